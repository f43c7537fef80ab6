package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/paidonce/paidonce/store"
)

// metricsTimeout is how long the sums may take before a scrape goes without them.
const metricsTimeout = 10 * time.Second

// Metrics answers scrapes in the text form of Prometheus. It names amounts of every tenant, so it belongs on an
// address that only the monitoring reaches, never on the one that the channels reach.
func (s *Server) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), metricsTimeout)
		defer cancel()
		registry := prometheus.NewRegistry()
		registry.MustRegister(&collector{s, ctx})
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
	})
}

// collector reads everything at the time of one scrape, whose context it therefore holds.
type collector struct {
	s   *Server
	ctx context.Context
}

var _ prometheus.Collector = (*collector)(nil)

// metric is one number of the house.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	value      float64
}

// Describe sends nothing: which sums there are depends on the tenants.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	counts := c.s.opt.House.Counts()
	counter := func(name, help string, value int64) metric {
		return metric{"paidonce_" + name + "_total", help, prometheus.CounterValue, inexact(value)}
	}
	for _, m := range []metric{
		counter("accepted", "Reports that were taken in and acknowledged.", counts.Accepted),
		counter("repeats", "Reports of events that were finished before: repeats after the acknowledgement.",
			counts.Repeats),
		counter("mismatches", "Reports that deviate from the event under their key. Each needs a person.",
			counts.Mismatches),
		counter("undecided", "Reports that could not be taken in and were not acknowledged.", counts.Undecided),
		counter("booked", "Events that this instance booked.", counts.Booked),
		counter("parked", "Times that an event was held for a business reason.", counts.Parked),
		counter("failed", "Times that a booking failed for technical reasons.", counts.Failed),
		counter("redriven", "Events that background work booked.", counts.Redriven),
		counter("unanswered_questions", "Questions to channels without a usable answer.", counts.Unanswered),
		counter("unknown_commits", "Commits whose answer was lost.", counts.UnknownCommits),
		{"paidonce_redrive_lag_seconds_sum", "Sum of the time between due and taken, of all events taken again.",
			prometheus.CounterValue, counts.RedriveLag.Seconds()},
		{"paidonce_redrive_lag_seconds_max", "The longest of those since the start.", prometheus.GaugeValue,
			counts.RedriveLagMax.Seconds()},
	} {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.name, m.help, nil, nil), m.kind, m.value)
	}
	risk, err := c.s.opt.Store.Risk(c.ctx, 0, c.s.opt.Overdue)
	if err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewDesc("paidonce_risk", "Money at risk.", nil, nil), err)
		return
	}
	c.sums(out, "unbooked", "money that was seen and is not booked", risk.Unbooked)
	c.sums(out, "overdue", "orders that stay open past their time", risk.Overdue)
	c.sums(out, "suspense", "money that fits no order", risk.Suspense)
}

func (c *collector) sums(out chan<- prometheus.Metric, name, what string, sums []store.Sum) {
	labels := []string{"tenant", "channel", "reason", "currency"}
	describe := func(part, help string) *prometheus.Desc {
		return prometheus.NewDesc("paidonce_"+name+"_"+part, help+what+".", labels, nil)
	}
	count, minor := describe("events", "Count of "), describe("amount_minor", "Minor units of ")
	age := describe("oldest_age_seconds", "Age of the oldest of ")
	for _, sum := range sums {
		values := []string{strconv.FormatInt(sum.Tenant, 10), sum.Channel, sum.Reason, string(sum.Currency)}
		for desc, value := range map[*prometheus.Desc]float64{count: inexact(sum.Count), minor: inexact(sum.Minor),
			age: inexact(sum.AgeUs) / 1e6} {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, values...)
		}
	}
}

// inexact is for graphs only: the exposition format knows no whole numbers.
func inexact(n int64) float64 { return float64(n) }
