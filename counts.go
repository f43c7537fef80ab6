package paidonce

import (
	"sync/atomic"
	"time"

	"github.com/paidonce/paidonce/gate"
)

// counters are what this process has seen since it started. They are for alarms and graphs; no decision rests on them.
type counters struct {
	accepted, repeats, mismatches, undecided atomic.Int64
	booked, parked, failed                   atomic.Int64
	redriven, unanswered, lagUs, lagMaxUs    atomic.Int64
}

// Counts is a reading of a house's counters since it started.
type Counts struct {
	Accepted   int64 // deliveries and answers for which Accept returned no error
	Repeats    int64 // of those, events that had been finished before
	Mismatches int64 // of those, reports that deviate from the event under their key
	Undecided  int64 // Accept returned an error: not acknowledged, the channel sends again
	Booked     int64 // events that this instance brought to their end, re-driven ones included
	Parked     int64 // times an event was parked for a business reason
	Failed     int64 // times a booking failed for technical reasons
	Redriven   int64 // events that background work brought to their end
	Unanswered int64 // questions to channels that brought no usable answer

	UnknownCommits int64 // commits whose answer was lost

	// RedriveLag is the sum over all events taken by background work of the time between due and taken, by the
	// database's clock; RedriveLagMax the longest.
	RedriveLag, RedriveLagMax time.Duration
}

// Counts reads the counters.
func (h *House) Counts() Counts {
	c := &h.counts
	return Counts{Accepted: c.accepted.Load(), Repeats: c.repeats.Load(), Mismatches: c.mismatches.Load(),
		Undecided: c.undecided.Load(), Booked: c.booked.Load(), Parked: c.parked.Load(), Failed: c.failed.Load(),
		Redriven: c.redriven.Load(), Unanswered: c.unanswered.Load(), UnknownCommits: h.store.UnknownCommits(),
		RedriveLag:    time.Duration(c.lagUs.Load()) * time.Microsecond,
		RedriveLagMax: time.Duration(c.lagMaxUs.Load()) * time.Microsecond}
}

// took notes what became of one report.
func (c *counters) took(r Result, err error) {
	if err != nil {
		c.undecided.Add(1)
		return
	}
	c.accepted.Add(1)
	switch {
	case r.Status == Repeat:
		c.repeats.Add(1)
	case r.Verdict == gate.Mismatch:
		c.mismatches.Add(1)
	}
}

// drove notes how driving one event ended.
func (c *counters) drove(s Status) {
	switch s {
	case Booked:
		c.booked.Add(1)
	case Parked:
		c.parked.Add(1)
	case Pending:
		c.failed.Add(1)
	}
}

// lagged notes how late an event was taken by background work.
func (c *counters) lagged(lateUs int64) {
	lateUs = max(lateUs, 0)
	c.lagUs.Add(lateUs)
	for {
		longest := c.lagMaxUs.Load()
		if lateUs <= longest || c.lagMaxUs.CompareAndSwap(longest, lateUs) {
			return
		}
	}
}
