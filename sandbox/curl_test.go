package sandbox_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/sandbox"
)

// What is shown to a person is what is sent: the shell changes neither the address nor a header nor a byte of the body,
// whatever an order is called.
func TestTheShownCommandSendsTheMessage(t *testing.T) {
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			testdb.Missing(t, program+" is not installed")
		}
	}
	type delivery struct {
		uri    string
		header http.Header
		body   []byte
	}
	arrived := make(chan delivery, 1)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a body cut short fails the comparison
		arrived <- delivery{r.RequestURI, r.Header, body}
	}))
	defer web.Close()
	box := newBox(t, newKeys(t), 1, web.URL)
	for _, channel := range channels() {
		for _, orderNo := range []string{"ORDER-1", `it's "$HOME" \`, "`id`; $(id) & | > <\n\t%0A!*?[a]{b} 订单", `'''\''`} {
			for _, v := range []sandbox.Variant{{}, {BadSignature: true}} {
				m := notification(t, box, pay(t, box, channel, orderNo, 1999), v)
				const uri = "/notify/it's?a=$HOME&b=`id`"
				command := exec.Command("bash", "-c", m.Curl(web.URL+uri))
				if output, err := command.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", channel, err, output)
				}
				got := <-arrived
				if got.uri != uri || !bytes.Equal(got.body, m.Body) {
					t.Errorf("%s, %q: sent to %q\n%s\nwant\n%s", channel, orderNo, got.uri, got.body, m.Body)
				}
				for header := range m.Header {
					if got.header.Get(header) != m.Header.Get(header) {
						t.Errorf("%s: %s %q, want %q", channel, header, got.header.Get(header), m.Header.Get(header))
					}
				}
			}
		}
	}
}
