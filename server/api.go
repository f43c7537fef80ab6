package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/paidonce/paidonce/store"
)

// maxRequestBytes is the longest request body of the API.
const maxRequestBytes = 16 << 10

// routeAPI adds the JSON API and its description. The API has no CORS headers: it is for servers, not for pages.
func (s *Server) routeAPI(mux *http.ServeMux) {
	config := huma.DefaultConfig("paidonce", s.opt.Version)
	config.Info.Description = "Orders, events and the journal of one tenant. The bearer token says whose; money is a " +
		"whole number of minor units (fen) and a currency; times ending in _us are microseconds since 1970."
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.RejectUnknownQueryParameters = true
	config.Transformers = []huma.Transformer{nameProblems}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "a token of one tenant"},
	}
	config.Security = []map[string][]string{{"token": {}}}
	api := humago.New(mux, config)
	api.UseMiddleware(s.authenticate(api))
	s.routeOrders(api)
	s.routeEvents(api)
	s.routeJournal(api)
	s.routeClaims(api)
	s.routeOperations(api)
	s.routeSuspense(api)
}

// operation describes one route of the API; failures are the statuses that it may answer beside its success.
func operation(id, method, path, summary string, failures ...int) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: maxRequestBytes,
		Errors: append([]int{http.StatusUnauthorized, http.StatusServiceUnavailable}, failures...)}
}

// tenantKey carries the tenant of the token through the request.
type tenantKey struct{}

// tenantOf is the tenant whose token came with the request. Every route of the API runs behind authenticate; without
// it the tenant would be 0, which owns nothing.
func tenantOf(ctx context.Context) int64 {
	tenant, _ := ctx.Value(tenantKey{}).(int64)
	return tenant
}

// authenticate finds the tenant of the bearer token. The tenant never comes from anywhere else in a request. A
// database that does not answer is no verdict about the token: 503, not 401, so that nobody throws a good token away.
func (s *Server) authenticate(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		tenant, err := int64(0), store.ErrToken
		scheme, token, found := strings.Cut(ctx.Header("Authorization"), " ")
		if found && strings.EqualFold(scheme, "Bearer") {
			tenant, err = s.opt.Store.TokenTenant(ctx.Context(), token)
		}
		if err == nil {
			next(huma.WithValue(ctx, tenantKey{}, tenant))
			return
		}
		if errors.Is(err, store.ErrToken) {
			ctx.SetHeader("WWW-Authenticate", `Bearer realm="paidonce"`)
		}
		s.writeProblem(api, ctx, err)
	}
}

// writeProblem answers with an error outside of an operation, in the form that operations use.
func (s *Server) writeProblem(api huma.API, ctx huma.Context, err error) {
	var model *huma.ErrorModel
	if !errors.As(s.problem(ctx.Context(), err), &model) {
		ctx.SetStatus(http.StatusInternalServerError)
		return
	}
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(model.Status)
	if err := api.Marshal(ctx.BodyWriter(), "application/json", model); err != nil {
		s.opt.Logger.WarnContext(ctx.Context(), "cannot write an answer", "err", err)
	}
}

// page is where a list goes on. Lists are ordered by their own keys, so that nothing is skipped or shown twice while
// rows are added.
type page struct {
	After string `query:"after" maxLength:"191" doc:"the last key of the page before; empty: from the start"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"rows of a page"`
}

// nextOf is the value of after for the next page; empty at the end.
func nextOf(count, limit int, last func() string) string {
	if count < limit || count == 0 {
		return ""
	}
	return last()
}

// answerOf wraps what the framework writes as the body.
type answerOf[T any] struct {
	Body T
}

// list never is null in JSON.
func list[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}
