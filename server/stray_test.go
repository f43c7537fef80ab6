package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// Whoever misses a notification address learns it, and so does whoever reads the log: no redirect, which would lose
// the body of a POST, and never an answer that a channel takes for an acknowledgement.
func TestAMissedAddressIsAPlainNoAndALineInTheLog(t *testing.T) {
	long := "/notify/sqb/" + strings.Repeat("x", 500)
	for typed, logged := range map[string]string{
		"/notify/sqb/shop-1/":      "path=/notify/sqb/shop-1/ ",
		"/notify/sqb//shop-1":      "path=/notify/sqb//shop-1 ",
		"//notify/sqb/shop-1":      "path=//notify/sqb/shop-1 ",
		"/notify/./sqb/shop-1":     "path=/notify/./sqb/shop-1 ",
		"/x/../notify/sqb/shop-1":  "path=/x/../notify/sqb/shop-1 ",
		"/notify/sqb/shop-1/..":    "path=/notify/sqb/shop-1/.. ",
		"/notify/sqb/shop-1/%2e":   "path=/notify/sqb/shop-1/. ",
		"/notify/sqb":              "path=/notify/sqb ",
		"/notify/":                 "path=/notify/ ",
		"/notify":                  "path=/notify ",
		"/Notify/sqb/shop-1":       "path=/Notify/sqb/shop-1 ",
		"/NOTIFY/sqb/shop-1":       "path=/NOTIFY/sqb/shop-1 ",
		"/notify/SQB/shop-1":       "path=/notify/SQB/shop-1 ",
		"/notify/sqb/shop-1/x":     "path=/notify/sqb/shop-1/x ",
		"/notify/sqb%2Fshop-1":     "path=/notify/sqb/shop-1 ",
		"/notify/sqb/shop-9?k=tea": "path=/notify/sqb/shop-9 ",
		"/notify/sqb/a%0ab%1b%00":  "path=/notify/sqb/a?b?? ",
		long:                       "path=" + long[:128] + "… ",
	} {
		w := newWorld(t)
		body := w.paid("7894259244067349", "ORDER-1")
		got := w.do(http.MethodPost, typed, http.Header{"Authorization": {w.sign(body)}}, body)
		if got.status != http.StatusNotFound || got.body != "no such notification address\n" {
			t.Errorf("%q is answered %d %q", typed, got.status, got.body)
		}
		log := w.logs.String()
		if !strings.Contains(log, "level=WARN") || !strings.Contains(log, logged) || strings.Contains(log, "tea") {
			t.Errorf("%q: the log says\n%swant %s", typed, log, logged)
		}
	}
}

// What does not aim at a notification address is none of its business.
func TestOtherPathsAreNotTakenForNotifications(t *testing.T) {
	w := newWorld(t)
	for _, typed := range []string{"/healthz", "/notifying", "/v1/notify/x", "/none"} {
		w.do(http.MethodGet, typed, nil, nil)
	}
	if log := w.logs.String(); strings.Contains(log, "unknown address") {
		t.Errorf("the log says\n%s", log)
	}
}
