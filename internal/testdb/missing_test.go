package testdb_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/paidonce/paidonce/internal/testdb"
)

// verdict notes how a test would have ended, and ends its goroutine as a test does.
type verdict struct {
	testing.TB
	ended string
}

func (v *verdict) Helper()               {}
func (v *verdict) Fatalf(string, ...any) { v.ended = "failed"; runtime.Goexit() }
func (v *verdict) Skipf(string, ...any)  { v.ended = "skipped"; runtime.Goexit() }

// A suite that skips in silence passes without having run, so a run that must be complete fails instead.
func TestWhatIsMissingFailsWhereEverythingIsRequired(t *testing.T) {
	for setting, want := range map[string]string{"1": "failed", "": "skipped", "0": "skipped"} {
		t.Setenv("PAIDONCE_REQUIRE_ENGINES", setting)
		v := &verdict{TB: t}
		var done sync.WaitGroup
		done.Go(func() { testdb.Missing(v, "the engine is not installed") })
		done.Wait()
		if v.ended != want {
			t.Errorf("with %q the test was %s, want %s", setting, v.ended, want)
		}
	}
}

func TestARunIsLongOnlyIfAsked(t *testing.T) {
	t.Setenv("PAIDONCE_LONG", "1")
	if !testdb.Long() {
		t.Error("PAIDONCE_LONG=1 is not seen")
	}
	t.Setenv("PAIDONCE_LONG", "")
	if testdb.Long() {
		t.Error("a run is long without being asked")
	}
}
