package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/paidonce/paidonce"
)

func TestASecretIsNotShownInAnyForm(t *testing.T) {
	t.Parallel()
	held := struct{ Key secret }{secretWord}
	for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(form, held); strings.Contains(text, secretWord) {
			t.Errorf("%s shows it: %s", form, text)
		}
	}
	if text, err := yaml.Marshal(held); err != nil || strings.Contains(string(text), secretWord) {
		t.Errorf("YAML shows it: %s, %v", text, err)
	}
}

func TestDatabaseURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mysql://u:p@h/d":                "u:p@tcp(h:3306)/d",
		"mariadb://u:p@h:3307/d":         "u:p@tcp(h:3307)/d",
		"mysql://u:p%40%2Fx@[::1]:1/d":   "u:p@/x@tcp([::1]:1)/d",
		"mysql://u@/d?socket=/run/s":     "u@unix(/run/s)/d",
		"mysql://u:p@h/d?timeout=1s":     "u:p@tcp(h:3306)/d?timeout=1s",
		"mysql://h/d":                    "",
		"mysql://u:p@h":                  "",
		"mysql://u:p@/d":                 "",
		"mysql://u:" + secretWord + "@%": "",
	} {
		got, err := mysqlDSN(url)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s becomes %q, %v", url, got, err)
		}
		if err != nil && strings.Contains(err.Error(), secretWord) {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	for url, want := range map[string]string{
		"sqlite:a/b.db": "sqlite:a/b.db",
		"postgres://u:" + secretWord + "@h:1/d?password=" + secretWord: "postgres://u@h:1/d",
		"mysql://u:" + secretWord + "@h/d":                             "mysql://u@h/d",
		"host=h password=" + secretWord:                                masked,
		"oracle://u:" + secretWord + "@h/d":                            masked,
		secretWord + "%%%:":                                            masked,
	} {
		if got := describeDatabase(secret(url)); got != want {
			t.Errorf("%s is described as %q", url, got)
		}
	}
}

func TestFaultLists(t *testing.T) {
	t.Parallel()
	got, err := parseFaults("claimed:error:50, in_booking:kill:1")
	if want := []fault{{"claimed", false, 50}, {"in_booking", true, 1}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"claimed", "claimed:error", "claimed:error:0.5", "claimed:error:1001",
		"claimed:error:-1", "claimed:stop:1", "elsewhere:error:1", "claimed:error:1,"} {
		if _, err := parseFaults(text); !errors.Is(err, errUsage) {
			t.Errorf("%q is taken: %v", text, err)
		}
	}
	always := func(string) (string, bool) { return "booked:error:1000,parked:error:0", true }
	a := &app{Lookup: func(name string) (string, bool) {
		if name != "PAIDONCE_FAULTS" {
			return "", false
		}
		return always(name)
	}}
	hook, err := a.faultHook(sandboxConfig())
	if err != nil {
		t.Fatal(err)
	}
	for point, fails := range map[string]bool{"booked": true, "parked": false, "claimed": false} {
		for range 100 {
			if err := hook(point); errors.Is(err, errFault) != fails {
				t.Fatalf("%s: %v", point, err)
			}
		}
	}
}

// Heads only grow, survive a restart, and what would prove a crime is never overwritten: neither a file that cannot be
// read nor the kept end of a chain that was rewritten.
func TestHeadsOutsideOfTheDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), headsFile)
	head := func(tenant, seal int64) paidonce.LedgerHead {
		return paidonce.LedgerHead{Tenant: tenant, Seal: seal, Bookings: seal * 10, Digest: fmt.Sprint(tenant, seal)}
	}
	rewritten := false
	chain := func(_ context.Context, tenant, seal int64) (paidonce.LedgerHead, bool, error) {
		stored := head(tenant, seal)
		if rewritten {
			stored.Digest = "recomputed"
		}
		return stored, true, nil
	}
	h, err := openHeads(path, chain)
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []paidonce.LedgerHead{head(2, 1), head(1, 3), head(1, 2)} {
		if err := h.keep(t.Context(), given); err != nil {
			t.Fatal(err)
		}
	}
	if h, err = openHeads(path, chain); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.keep(t.Context(), head(2, 1)), h.keep(t.Context(), head(2, 2))); err != nil {
		t.Fatal(err)
	}
	rewritten = true
	if err := h.keep(t.Context(), head(2, 3)); !errors.Is(err, errRewritten) {
		t.Errorf("the proof of a rewritten chain is overwritten: %v", err)
	}
	list, err := readHeads(path)
	if want := []paidonce.LedgerHead{head(1, 3), head(2, 2)}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Errorf("beside the file: %v, %v", names, err)
	}
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openHeads(path, chain); err == nil {
		t.Error("a file that cannot be read is taken for an empty one")
	}
}
