package server

import (
	"net/http"
	"path"
	"strings"
	"unicode"
)

// strays answers requests that aim at a notification address and miss it by their form: a slash too many, a part that
// is missing, another case. The router would redirect some of them, and a redirected POST loses its body; others it
// would refuse without a word in the log, and then nobody finds out why a payment never came.
func (s *Server) strays(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if aimsAtNotify(r.URL.Path) && !formedAsNotify(r.URL.Path, r.URL.EscapedPath()) {
			s.unknownAddress(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// aimsAtNotify reports whether whoever typed the path meant a notification address.
func aimsAtNotify(typed string) bool {
	for _, p := range []string{typed, path.Clean("/" + typed)} {
		p = strings.ToLower(p)
		if p == "/notify" || strings.HasPrefix(p, "/notify/") {
			return true
		}
	}
	return false
}

// formedAsNotify reports whether the router takes the path as it is for /notify/CHANNEL/ACCOUNT.
func formedAsNotify(decoded, escaped string) bool {
	return path.Clean(decoded) == decoded && path.Clean(escaped) == escaped && strings.HasPrefix(escaped, "/notify/") &&
		strings.Count(escaped, "/") == 3
}

// unknownAddress says no. A mistyped address must never look like an acknowledgement, whatever the channel takes for
// one.
func (s *Server) unknownAddress(w http.ResponseWriter, r *http.Request) {
	s.opt.Logger.WarnContext(r.Context(), "notification to an unknown address", "method", clip(r.Method),
		"path", clip(r.URL.Path), "remote", r.RemoteAddr)
	plain(w, http.StatusNotFound, "no such notification address\n")
}

// maxClip is how many characters of a stranger's text come into the log.
const maxClip = 128

// clip bounds what a stranger can write into the log, and keeps control characters out of it.
func clip(s string) string {
	var kept []rune
	for _, r := range s {
		if len(kept) == maxClip {
			return string(kept) + "…"
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		kept = append(kept, r)
	}
	return string(kept)
}
