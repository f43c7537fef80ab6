package tidy

import (
	"regexp"
	"strings"
)

// mention is a text that makes sense only where it was written.
type mention struct {
	pattern *regexp.Regexp
	instead string
}

// unwanted is built from pieces, so that this file does not find itself.
var unwanted = []mention{
	{regexp.MustCompile(`(^|[^\w.-])sha` + `red/`), "say the fact in your own words; readers have only this repository"},
	{regexp.MustCompile(`HAZ` + `ARDS\.md`), "say the fact in your own words; readers have only this repository"},
	{regexp.MustCompile(`(^|[^\w.])/(work|root|home/\w+)` + `/`),
		"machine path; use a relative one, or a temporary folder"},
	{regexp.MustCompile(`(?i)\b(registry\.npm|npmjs\.(com|org)|npmm` + `irror|yarnpkg\.com)`),
		"name of a package registry; say the package's name only"},
	{regexp.MustCompile(`(?i)\b(proxy|sum)\.gol` + `ang\.org|\bgoproxy\.(io|cn)`),
		"name of a package registry; the go command knows it"},
	{regexp.MustCompile(`(?i)\b(deb|security|snapshot|ftp)\.debi` + `an\.org`),
		"name of a package registry; apt knows it"},
	{regexp.MustCompile(`(?i)\b(pypi\.org|pythonho` + `sted\.org|crates\.io|rubygems\.org)`),
		"name of a package registry; say the package's name only"},
}

// checkMentions reads every text file, documents and scripts included.
func checkMentions(t *tree, found report) {
	for _, file := range t.texts {
		number := 0
		for line := range strings.Lines(file.text) {
			number++
			for _, m := range unwanted {
				if place := m.pattern.FindString(line); place != "" {
					found(file.path, number, "%q: %s", strings.TrimSpace(place), m.instead)
				}
			}
		}
	}
}
