package server

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"
)

// readTimeout is how long a sender may take for its body. A channel's body is there at once; with the house's budget
// (4 s) an answer then comes within the 5 s that channels wait for.
const readTimeout = 5 * time.Second

// guard is the one middleware of every route: security headers, an end to slow bodies, and nothing that panics ends
// the process or shows a stack to whoever asked. 500 is a failure to every channel, so a notification that met a panic
// is sent again.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		if r.Body != http.NoBody {
			// Set for refusals too: before it answers one, the server itself waits for the rest of the body. A writer
			// that knows no deadlines (a test's recorder) is read without.
			_ = http.NewResponseController(w).SetReadDeadline(s.opt.Clock().Add(readTimeout))
		}
		watched := &watchedWriter{ResponseWriter: w}
		defer func() {
			thrown := recover()
			if thrown == nil {
				return
			}
			s.opt.Logger.ErrorContext(r.Context(), "panic while answering", "what", nameOf(thrown), "method", r.Method,
				"remote", r.RemoteAddr, "stack", string(debug.Stack()))
			if !watched.begun {
				plain(w, http.StatusInternalServerError, "internal error\n")
			}
		}()
		next.ServeHTTP(watched, r)
	})
}

// nameOf tells what was thrown without quoting it: the value of a panic may hold parts of a body.
func nameOf(thrown any) string {
	if err, ok := thrown.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", thrown)
}

// watchedWriter knows whether an answer was begun.
type watchedWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *watchedWriter) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// plain answers with a short text.
func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
