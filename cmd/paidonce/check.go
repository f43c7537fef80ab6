package main

import (
	"net"
	"slices"
	"time"
)

// check finds what the YAML's form cannot: values that make no sense.
func (c *config) check(clock func() time.Time) error {
	if err := checkAddress(c.Listen); err != nil {
		return &problem{"$.listen", err}
	}
	if len(c.Instance) > 64 {
		return problemf("$.instance", "must have at most 64 bytes")
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		return problemf("$.log.level", "must be debug, info, warn or error")
	}
	if !slices.Contains([]string{"auto", "json", "text", "pretty"}, c.Log.Format) {
		return problemf("$.log.format", "must be auto, json, text or pretty")
	}
	if c.Metrics != "" {
		if _, _, err := net.SplitHostPort(c.Metrics); err != nil || c.Metrics == c.Listen {
			return problemf("$.metrics", "must be HOST:PORT, and not that of listen")
		}
	}
	if _, _, err := c.Ask.durations(); err != nil {
		return err
	}
	if err := c.checkAccounts(); err != nil {
		return err
	}
	if _, err := c.rules(); err != nil {
		return err
	}
	s, err := openStore(c.Database.URL, clock)
	if err != nil {
		return &problem{"$.database.url", err}
	}
	return s.Close()
}
