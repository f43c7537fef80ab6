package server_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paidonce/paidonce/server"
)

func TestHealth(t *testing.T) {
	w := newWorld(t)
	ask := func(path string, status int, body string) {
		t.Helper()
		if got := w.do(http.MethodGet, path, nil, nil); got.status != status || got.body != body {
			t.Errorf("%s: %d %q, want %d %q", path, got.status, got.body, status, body)
		}
	}
	ask("/healthz", http.StatusOK, "alive\n")
	ask("/readyz", http.StatusOK, "ready\n")
	w.server.Drain()
	ask("/readyz", http.StatusServiceUnavailable, "draining\n")
	ask("/healthz", http.StatusOK, "alive\n")
	w.order(1, "ORDER-1")
	if got := w.notify("shop-1", w.paid("7894259244067349", "ORDER-1")); !got.held() {
		t.Errorf("a notification while draining: %d %q", got.status, got.body)
	}

	w = newWorld(t)
	w.must(w.store.Close())
	ask("/readyz", http.StatusServiceUnavailable, "database\n")
	ask("/healthz", http.StatusOK, "alive\n")
}

// silentDatabase never answers; it only ends when nobody waits any more.
type silentDatabase struct{ server.Store }

func (silentDatabase) Ping(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestADatabaseThatDoesNotAnswerIsNotWaitedForLong(t *testing.T) {
	w := newWorld(t)
	silent, err := server.New(server.Options{House: w.house, Store: silentDatabase{}, Clock: fixed})
	w.must(err)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		recorder := httptest.NewRecorder()
		silent.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		if recorder.Code != http.StatusServiceUnavailable || time.Since(begun) > 2*time.Second {
			t.Errorf("answer %d after %s", recorder.Code, time.Since(begun))
		}
	})
}

func TestTheRootNamesTheEndpoints(t *testing.T) {
	w := newWorld(t)
	got := w.do(http.MethodGet, "/", nil, nil)
	for _, want := range []string{"/notify/{channel}/{account}", "/v1/", "/openapi.json", "/healthz", "/readyz"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%s is not named: %s", want, got.body)
		}
	}
}

// A sender that never ends its body is answered "not held" when its time is over. The server's clock runs behind by
// nearly the whole time allowed, so that the test does not wait for it.
func TestASlowBodyIsNotWaitedFor(t *testing.T) {
	w := newWorld(t)
	slow, err := server.New(server.Options{House: w.house, Store: w.store, Clock: func() time.Time {
		return time.Now().Add(-4900 * time.Millisecond)
	}, Channels: []server.Endpoint{{Path: "toy", Channel: toy{name: "a"}}}})
	w.must(err)
	web := httptest.NewServer(slow)
	defer web.Close()
	for path, status := range map[string]string{"/notify/toy/a": "HTTP/1.1 400 ", "/notify/toy/unknown": "HTTP/1.1 404 ",
		"/v1/orders": "HTTP/1.1 401 "} {
		answer := askSlowly(t, web.URL, path)
		if !strings.HasPrefix(answer, status) {
			t.Errorf("%s: answer %q, want %s", path, answer, status)
		}
	}
}

// askSlowly sends a part of a body and waits for the answer.
func askSlowly(t *testing.T, url, path string) string {
	t.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	request := "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"
	if _, err := connection.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 512)
	n, err := connection.Read(answer)
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return string(answer[:n])
}
