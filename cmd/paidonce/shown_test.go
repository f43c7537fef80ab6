package main

import (
	"strings"
	"testing"
)

// Wherever a secret stands in a file, and however the file is written, no line of it is shown with the secret.
func TestNoLineIsShownWithItsSecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"api_keys: [SECRET]", "api_keys: [a,\n  SECRET]", "api_keys:\n- SECRET", "api_keys:\n  - SECRET\n  - SECRET",
		"accounts:\n- api_keys: SECRET", "accounts:\n- name: a\n  api_keys: SECRET",
		"accounts:\n  - name: a\n    api_keys:\n    - SECRET", "accounts: [{name: a, api_keys: [SECRET], tenant: 1}]",
		"accounts: [{name: a, 'api_keys': [SECRET]}]", "accounts: [{name: a,\n  api_keys: [\n    SECRET]}]",
		"database:\n  url: SECRET", "database: {url: SECRET}", "database: {url_file: a, url: SECRET}", "url:SECRET",
		"database:\n  url: >-\n    SECRET\n\n    name: SECRET", "api_keys: |\n  name: SECRET", "Api_Keys: SECRET",
		"password: SECRET", "pass word: SECRET", "SECRET", "- SECRET", "SECRET: name", "? SECRET", "\tapi_keys: SECRET",
		"ask:\n  auth_token: SECRET", "api_keys:\n  # a remark\n  - SECRET", "api_keys:\r\n  - SECRET\r",
	} {
		lines := strings.Split(strings.ReplaceAll(text, "SECRET", secretWord), "\n")
		for n := range lines {
			if shown := withoutSecret(lines, n); strings.Contains(shown, secretWord[:20]) {
				t.Errorf("%q: line %d is shown as %q", text, n+1, shown)
			}
		}
	}
}

// What is not a secret helps whoever looks for the mistake.
func TestKeysAndHarmlessValuesAreShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"tenant: 0":                             "tenant: 0",
		"tenant:1":                              "tenant:1",
		"accounts:\n- name: a\n  tenant: 0":     "  tenant: 0",
		"accounts:\n- api_keys: x\n  tenant: 0": "  tenant: 0",
		"accounts: [{name: a, tenant: 0}]":      "accounts: [{name: a, tenant: 0}]",
		"accounts: [{name: a, api_keys: [x]}]":  "accounts: [{name: a, api_keys: ***",
		"app_ids:\n  - 0x1":                     "  - 0x1",
		"app_ids: [a,\n  b]":                    "  b]",
		"- { rate: 10%, rounding: half_up } #":  "- { rate: 10%, rounding: half_up } #",
		"tenat: 1":                              "tenat: ***",
		"Api_Keys: [x]":                         "Api_Keys: ***",
		"api_keys:":                             "api_keys:",
		"database: {url: x}":                    "database: {url: ***",
	} {
		lines := strings.Split(text, "\n")
		if got := withoutSecret(lines, len(lines)-1); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
