package server

import (
	"fmt"
	"strings"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/store"
)

// maxExplained is how many deliveries an explanation goes through one by one.
const maxExplained = 20

// Explain tells the life of one event in plain words, one sentence a line: which row decided, in which attempt and on
// which instance, and why a repeat was a repeat.
func Explain(line store.Timeline) string {
	said := []string{explainClaim(line)}
	for i, delivery := range line.Deliveries {
		if i == maxExplained {
			said = append(said, fmt.Sprintf("%d more deliveries are kept.", len(line.Deliveries)-i))
			break
		}
		said = append(said, explainDelivery(line, delivery))
	}
	for _, step := range line.Steps {
		said = append(said, explainStep(step))
	}
	for _, a := range line.Actions {
		said = append(said, fmt.Sprintf("%s: %s did %q, because: %s.", at(a.AtUs), a.Actor, a.What, a.Why))
	}
	return strings.Join(append(said, explainBooking(line)), "\n")
}

// explainClaim names the row that decides, and who holds or finished it. The claim's own insert is attempt 1; every
// later holder left a step "taken".
func explainClaim(line store.Timeline) string {
	c := line.Claim
	row := fmt.Sprintf("The claim row (tenant %d, %s) decides: it is unique", c.Tenant, c.Key)
	attempt := 1
	for _, step := range line.Steps {
		if step.What == "taken" {
			attempt++
		}
	}
	switch c.State {
	case gate.Finished:
		return fmt.Sprintf("%s, and it was finished (%s) at %s in attempt %d by instance %s under fence %d.", row,
			c.Outcome, at(c.HandledUs), attempt, c.Instance, c.Fence)
	case gate.Host:
		return row + ", and it was taken at " + at(c.CreatedUs) + " by a host's own service, which finishes it itself."
	case gate.Inherited:
		return row + ", and it was adopted from an older table; nothing of ours tells how it was handled there."
	}
	if c.Reason == "" {
		return fmt.Sprintf("%s, and it is not finished: attempt %d, taken last by instance %s under fence %d, did not "+
			"report yet. Its next try is due at %s.", row, attempt, c.Instance, c.Fence, at(c.DueUs))
	}
	return fmt.Sprintf("%s, and it is not finished: after attempt %d on instance %s it is held for %s (%s). Its next "+
		"try is due at %s.", row, attempt, c.Instance, c.Reason, c.Detail, at(c.DueUs))
}

func explainDelivery(line store.Timeline, d store.Delivery) string {
	came := fmt.Sprintf("%s: a delivery by %s reached instance %s", at(d.ReceivedUs), d.Source, d.Instance)
	switch gate.Verdict(d.Verdict) {
	case gate.First:
		return came + ". It was the first: it inserted the row, and the row keeps its event."
	case gate.Done:
		return came + ". It was a repeat: the row was there and finished, so it was acknowledged and booked nothing."
	case gate.Busy:
		return came + ". It was a repeat: the row was there and another holder's lease on it was running, so it was " +
			"acknowledged and left to that holder."
	case gate.Resume:
		return came + ". It was a repeat: the row was there, unfinished and held by nobody, so it drove the stored " +
			"event on."
	case gate.Mismatch:
		if d.Digest == string(line.Claim.Digest) {
			return came + ". It said something else than the first report under the same key, and has taken its place since."
		}
		return fmt.Sprintf("%s. It says something else under the same key (digest %s, the claim's is %s), so it is "+
			"kept as evidence and did not change what was claimed.", came, short(d.Digest), short(string(line.Claim.Digest)))
	}
	return came + " with the verdict " + d.Verdict + "."
}

func explainStep(step store.Step) string {
	said := fmt.Sprintf("%s: instance %s ", at(step.AtUs), step.Instance)
	switch step.What {
	case "taken":
		said += fmt.Sprintf("took the unfinished claim under fence %d", step.Fence)
	case "parked":
		said += fmt.Sprintf("could not book it under fence %d and parked it", step.Fence)
	case "replaced":
		said += "put a later authentic report in the place of the first, because it is the one that fits the order"
	default:
		said += step.What
	}
	if detail := strings.TrimSuffix(strings.TrimSpace(step.Detail), ":"); detail != "" {
		said += ": " + detail
	}
	return said + "."
}

func explainBooking(line store.Timeline) string {
	if len(line.Bookings) == 0 {
		return "The journal has no booking of it."
	}
	if len(line.Bookings) > 1 {
		return fmt.Sprintf("The journal has %d bookings of it, which must never be. Verify the ledger.", len(line.Bookings))
	}
	b := line.Bookings[0]
	return fmt.Sprintf("The journal has one booking of it, %s, written at %s with %s by chain %s; the journal's own row "+
		"is unique for this event, so there cannot be a second one.", b.ID,
		at(b.BookedUs), entries(len(b.Entries)), b.Chain)
}

func entries(count int) string {
	switch count {
	case 0:
		return "no entry (it moved no money)"
	case 1:
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", count)
}

func short(digest string) string { return digest[:min(len(digest), 12)] }

// at writes a time of the database's clock.
func at(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.000000 UTC") }
