package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// at formats an error with file, line and column, and shows the line, without its secrets, with a mark under the
// column.
func (s *source) at(line, column int, err error) error {
	lines := strings.Split(string(s.text), "\n")
	if line < 1 || line > len(lines) {
		return fmt.Errorf("%s:%d:%d: %w", s.path, line, column, err)
	}
	shown := withoutSecret(lines, line-1)
	number := fmt.Sprintf("%5d | ", line)
	limit := len(strings.TrimSuffix(shown, masked))
	mark := strings.Repeat(" ", len(number)+min(max(column-1, 0), limit)) + "^"
	return fmt.Errorf("%s:%d:%d: %w\n%s%s\n%s", s.path, line, column, err, number, shown, mark)
}

// harmless lists the keys whose values may be shown with an error, the mappings and lists that hold them included.
// Keys that are not here are secrets', or misspelt ones, perhaps of a secret.
var harmless = []string{"listen", "data", "instance", "level", "format", "name", "channel", "tenant", "mode", "mch_id",
	"app_ids", "app_id", "auth_app_ids", "seller_ids", "terminal_sns", "sign_type", "account", "from", "version", "rate",
	"rounding", "bearer", "kept_on_refund", "remainder", "url_file", "api_keys_file", "api_v3_keys_file", "file", "id",
	"platform_certificates", "certificates", "public_keys", "database", "log", "accounts", "settlement", "steps", "fee",
	"commission", "split", "receivers", "ask", "metrics", "after", "close_after", "serial_no", "sub_mch_id",
	"private_key_file", "app_cert_sn", "alipay_root_cert_sn", "terminal_keys_file"}

// keyInLine is a key of a mapping, in a flow mapping or at the beginning of a line. Longer words are no keys of ours
// and may be secrets themselves.
var keyInLine = regexp.MustCompile(`(?:^[ -]*|[{,\[]\s*)["']?([A-Za-z][A-Za-z0-9_-]{0,23})["']?\s*:(?:\s|$)`)

// keyWithoutBlank is a key of ours with its value right behind the colon, which YAML takes for one text.
var keyWithoutBlank = regexp.MustCompile(`^[ -]*(` + strings.Join(harmless, "|") + `|url|api_keys|api_v3_keys):`)

// withoutSecret shows one line of the file: the keys, and the values of those that are known to be harmless. From the
// value of the first other key on, the rest of the line is masked.
func withoutSecret(lines []string, n int) string {
	line := strings.TrimRight(lines[n], " \r")
	start := indent(line)
	if line[start:] == "" || insideSecret(lines, n) {
		return line[:start] + maskOf(line[start:])
	}
	keys := keyInLine.FindAllStringSubmatchIndex(line, -1)
	if keys == nil {
		keys = keyWithoutBlank.FindAllStringSubmatchIndex(line, -1)
	}
	if keys == nil && !continues(lines, n) {
		return line[:start] + masked
	}
	for _, at := range keys {
		if !slices.Contains(harmless, line[at[2]:at[3]]) {
			return line[:at[1]] + maskOf(line[at[1]:])
		}
	}
	return line
}

func maskOf(text string) string {
	if text == "" {
		return ""
	}
	return masked
}

// indent is the width of the blanks and dashes before the first word.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " -")) }

// insideSecret reports whether a line belongs to the value of a key that began on a line above it and is not known to
// be harmless.
func insideSecret(lines []string, n int) bool {
	for key := range above(lines, n) {
		if !slices.Contains(harmless, key) {
			return true
		}
	}
	return false
}

// continues reports whether a line belongs to the value of a key on a line above it.
func continues(lines []string, n int) bool {
	for range above(lines, n) {
		return true
	}
	return false
}

// above yields the keys that a line lies under, from the innermost out. The word "" stands for a line under which it
// lies and that has no key.
func above(lines []string, n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		depth := depthOf(lines[n])
		for n--; n >= 0 && depth > 0; n-- {
			text := strings.TrimSpace(lines[n])
			if text == "" || strings.HasPrefix(text, "#") || depthOf(lines[n]) >= depth {
				continue
			}
			beside := 2*indent(lines[n]) >= depth // "- key: value" lies above, and the line is about the next key
			if depth = depthOf(lines[n]); beside {
				continue
			}
			keys := keyInLine.FindAllStringSubmatch(lines[n], -1)
			if keys == nil && !yield("") {
				return
			}
			for _, key := range keys {
				if !yield(key[1]) {
					return
				}
			}
		}
	}
}

// depthOf orders lines by how deep they are nested. A list may stand under its key without being indented further.
func depthOf(line string) int {
	blanks := len(line) - len(strings.TrimLeft(line, " "))
	if strings.HasPrefix(line[blanks:], "- ") {
		return 2*blanks + 1
	}
	return 2 * blanks
}
