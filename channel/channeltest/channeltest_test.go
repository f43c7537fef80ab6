package channeltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
)

// The suite is tested like a program: an adapter that keeps the contract passes, and each planted defect is found by
// the promise that it breaks.

func TestASoundAdapterPasses(t *testing.T) { Run(t, toySubject("")) }

func FuzzASoundAdapter(f *testing.F) { Fuzz(f, toySubject("")) }

func TestEveryDefectIsFound(t *testing.T) {
	defects := map[string]string{
		"foreign account":        "its account",
		"always held":            "acknowledgement",
		"panics":                 "of any form",
		"changes the header":     "changes nothing",
		"believes everything":    "changed byte",
		"tells the secret":       "one reason",
		"tells the body":         "one reason",
		"no reason":              "one reason",
		"two reasons":            "one reason",
		"any merchant":           "one reason",
		"drops the unknown":      "quarantined",
		"key from the notice":    "same event",
		"amount from the notice": "same event",
		"key from the trade":     "two refunds",
		"folds case":             "different keys",
		"trims":                  "different keys",
		"does not validate":      "usable number",
		"claims every wording":   "one signature",
	}
	for defect, promise := range defects {
		t.Run(defect, func(t *testing.T) {
			broken := brokenPromises(t, toySubject(defect))
			found := slices.ContainsFunc(broken, func(name string) bool { return strings.Contains(name, promise) })
			if !found {
				t.Fatalf("no promise about %q is broken, only %q", promise, broken)
			}
		})
	}
}

// A rewording that is the delivery itself would show nothing.
func TestAWordingThatIsNoOtherIsFound(t *testing.T) {
	s := toySubject("claims every wording")
	s.Reworded = func(_ testing.TB, r channel.Request) []channel.Request { return []channel.Request{r} }
	if oneSignatureOneClaim(t, s) == nil {
		t.Fatal("the same bytes are taken for another wording")
	}
}

func TestAnIncompleteSubjectFails(t *testing.T) {
	for name, forget := range map[string]func(*Subject){
		"Refund":     func(s *Subject) { s.Refund = nil },
		"Reworded":   func(s *Subject) { s.Reworded = nil },
		"Messages":   func(s *Subject) { s.Messages = nil },
		"Unbookable": func(s *Subject) { s.Unbookable = func(testing.TB) []Delivery { return nil } },
		"Refused":    func(s *Subject) { s.Refused = func(testing.TB) []Refusal { return nil } },
	} {
		t.Run(name, func(t *testing.T) {
			s := toySubject("")
			forget(&s)
			if s.complete(t) == nil {
				t.Fatal("a subject that leaves out a part is taken for complete")
			}
		})
	}
}

func brokenPromises(t *testing.T, s Subject) []string {
	t.Helper()
	var broken []string
	for _, c := range checks() {
		if c.run(t, s) != nil {
			broken = append(broken, c.name)
		}
	}
	return broken
}
