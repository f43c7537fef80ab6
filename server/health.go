package server

import (
	"context"
	"net/http"
	"time"
)

// readyTimeout is how long the database may take to say that it is there.
const readyTimeout = 2 * time.Second

// healthz says that the process is alive. It asks nobody: a database that is away is no reason to restart us.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive\n") }

// readyz says whether notifications should be sent here: the database answers, and the process is not ending.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		plain(w, http.StatusServiceUnavailable, "draining\n")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.opt.Store.Ping(ctx); err != nil {
		s.opt.Logger.WarnContext(ctx, "not ready, the database does not answer", "err", err)
		plain(w, http.StatusServiceUnavailable, "database\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}

const rootText = `paidonce books every payment event exactly once.

POST /notify/{channel}/{account}   notifications of the channels
     /v1/...                       JSON API, bearer token; described at /openapi.json and /openapi.yaml
GET  /healthz                      the process is alive
GET  /readyz                       the database answers and notifications are welcome
`

func (s *Server) root(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, rootText) }
