package server_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/sqb"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/server"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/sqlite"
)

// world is a running server over a real database and a real adapter: Shouqianba account "shop-1" of tenant 1 and
// "shop-2" of tenant 2, both at path "sqb".
type world struct {
	t      *testing.T
	store  *store.Store
	house  *paidonce.House
	server *server.Server
	web    *httptest.Server
	key    *rsa.PrivateKey
	logs   *logBook
	tokens map[int64]string
}

// logBook collects the log of a server that answers on many goroutines.
type logBook struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

const terminal = "100000330000001"

func newWorld(t *testing.T, more ...server.Endpoint) *world {
	t.Helper()
	w := &world{t: t, logs: &logBook{}, tokens: map[int64]string{}}
	var err error
	w.store, err = sqlite.Open(filepath.Join(t.TempDir(), "books.db"), time.Now)
	w.must(err)
	t.Cleanup(func() { _ = w.store.Close() })
	_, err = migrate.Up(t.Context(), "sqlite", w.store.Pools().Main, sqlite.Schema())
	w.must(err)
	logger := slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.house, err = paidonce.New(paidonce.Options{Store: w.store, Instance: "till-a", Logger: logger})
	w.must(err)
	w.key, err = rsa.GenerateKey(rand.Reader, 2048)
	w.must(err)
	for tenant, name := range map[int64]string{1: "shop-1", 2: "shop-2"} {
		client, err := sqb.New(sqb.Config{Account: channel.Account{Tenant: tenant, Channel: sqb.Code, Name: name},
			PublicKeys: []*rsa.PublicKey{&w.key.PublicKey}, TerminalSNs: []string{terminal}})
		w.must(err)
		more = append(more, server.Endpoint{Path: "sqb", Channel: client})
		w.tokens[tenant], err = w.store.CreateToken(t.Context(), tenant, "test")
		w.must(err)
	}
	w.server, err = server.New(server.Options{House: w.house, Store: w.store, Channels: more, Logger: logger,
		Clock: time.Now, Version: "test"})
	w.must(err)
	w.web = httptest.NewServer(w.server)
	t.Cleanup(w.web.Close)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// paid is the body of a callback: 19.99 yuan for the order.
func (w *world) paid(sn, orderNo string) []byte {
	w.t.Helper()
	body, err := json.Marshal(map[string]string{"terminal_sn": terminal, "sn": sn, "client_sn": orderNo,
		"status": "SUCCESS", "order_status": "PAID", "total_amount": "1999", "net_amount": "1999",
		"finish_time": "1790000001500", "subject": "tea for the minister"})
	w.must(err)
	return body
}

// sign makes the signature that Shouqianba puts into Authorization.
func (w *world) sign(body []byte) string {
	w.t.Helper()
	digest := sha256.Sum256(body)
	signed, err := rsa.SignPKCS1v15(nil, w.key, crypto.SHA256, digest[:])
	w.must(err)
	return base64.StdEncoding.EncodeToString(signed)
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// field reads one value of a JSON answer by its path; numbers index lists.
func (r reply) field(t *testing.T, path ...any) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(r.body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("answer %d %q is not JSON: %v", r.status, r.body, err)
	}
	for _, step := range path {
		switch at := step.(type) {
		case string:
			object, ok := value.(map[string]any)
			if !ok {
				t.Fatalf("no object at %v of %v in %s", step, path, r.body)
			}
			value = object[at]
		case int:
			list, ok := value.([]any)
			if !ok || at >= len(list) {
				t.Fatalf("no element %v of %v in %s", step, path, r.body)
			}
			value = list[at]
		}
	}
	if number, ok := value.(json.Number); ok {
		return number.String()
	}
	return value
}

// rows is the length of a list in a JSON answer.
func (r reply) rows(t *testing.T, path ...any) int {
	t.Helper()
	list, ok := r.field(t, path...).([]any)
	if !ok {
		t.Fatalf("%v is no list in %s", path, r.body)
	}
	return len(list)
}

func (w *world) do(method, path string, header http.Header, body []byte) reply {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.web.URL+path, bytes.NewReader(body))
	w.must(err)
	if header != nil {
		request.Header = header
	}
	response, err := w.web.Client().Do(request)
	w.must(err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	w.must(err)
	return reply{response.StatusCode, response.Header, string(text)}
}

// notify delivers a signed callback to an account.
func (w *world) notify(account string, body []byte) reply {
	w.t.Helper()
	return w.do(http.MethodPost, "/notify/sqb/"+account, http.Header{"Authorization": {w.sign(body)},
		"Content-Type": {"application/json"}, "Cookie": {"session=cookie-of-a-proxy"}}, body)
}

// get asks the API as a tenant.
func (w *world) get(tenant int64, path string) reply {
	w.t.Helper()
	return w.do(http.MethodGet, path, http.Header{"Authorization": {"Bearer " + w.tokens[tenant]}}, nil)
}

// post sends JSON to the API as a tenant.
func (w *world) post(tenant int64, path, body string) reply {
	w.t.Helper()
	return w.do(http.MethodPost, path, http.Header{"Authorization": {"Bearer " + w.tokens[tenant]},
		"Content-Type": {"application/json"}}, []byte(body))
}

// order registers an order of 19.99 yuan.
func (w *world) order(tenant int64, no string) {
	w.t.Helper()
	got := w.post(tenant, "/v1/orders", `{"order_no":"`+no+`","store":"s1","amount_minor":1999,"currency":"CNY"}`)
	if got.status != http.StatusCreated {
		w.t.Fatalf("order %s: %d %s", no, got.status, got.body)
	}
}

// toy is an adapter that answers as it is told, for what Shouqianba's never says.
type toy struct {
	name  string
	parse func() (channel.Parsed, error)
}

func (c toy) Account() channel.Account {
	return channel.Account{Tenant: 1, Channel: "TOY", Name: c.name}
}

func (c toy) Parse(_ context.Context, _ channel.Request) (channel.Parsed, error) { return c.parse() }

func (c toy) Ack(held bool) channel.Reply {
	if held {
		return channel.Reply{Status: http.StatusOK}
	}
	return channel.Reply{Status: http.StatusBadRequest, ContentType: "application/json", Body: []byte(`{"code":"NO"}`)}
}

func fixed() time.Time { return time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC) }
