package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/paidonce/paidonce"
)

// fault is a failure that happens at a named point with a chance in thousandths.
type fault struct {
	point    string
	kill     bool // end the process as kill -9 does; false: fail at that point
	permille int
}

// errFault is a failure that was asked for.
var errFault = errors.New("fault on demand")

// parseFaults reads a list such as "claimed:error:50,in_booking:kill:10".
func parseFaults(text string) ([]fault, error) {
	points := []string{paidonce.PointBeforeClaim, paidonce.PointClaimed, paidonce.PointInBooking, paidonce.PointBooked,
		paidonce.PointBeforePark, paidonce.PointParked}
	var faults []fault
	for item := range strings.SplitSeq(text, ",") {
		parts := strings.Split(strings.TrimSpace(item), ":")
		if len(parts) != 3 || !slices.Contains(points, parts[0]) || parts[1] != "error" && parts[1] != "kill" {
			return nil, usagef("PAIDONCE_FAULTS: %q must be POINT:error:N or POINT:kill:N, N in thousandths; points are %s",
				item, strings.Join(points, ", "))
		}
		permille, err := strconv.Atoi(parts[2])
		if err != nil || permille < 0 || permille > 1000 {
			return nil, usagef("PAIDONCE_FAULTS: %q must be from 0 to 1000 thousandths", parts[2])
		}
		faults = append(faults, fault{parts[0], parts[1] == "kill", permille})
	}
	return faults, nil
}

// faultHook makes the house's hook from PAIDONCE_FAULTS, which exists for tests and for the demonstration. Where money
// is real nothing fails on purpose: it is refused unless every account is a sandbox. Without the variable it is nil.
func (a *app) faultHook(c *config) (func(point string) error, error) {
	text, err := a.env("PAIDONCE_FAULTS")
	if err != nil || text == "" {
		return nil, err
	}
	if !c.allSandbox() {
		return nil, usagef("PAIDONCE_FAULTS is for sandbox accounts only, and live ones are configured")
	}
	faults, err := parseFaults(text)
	if err != nil {
		return nil, err
	}
	return func(point string) error {
		for _, f := range faults {
			if f.point != point || rand.IntN(1000) >= f.permille {
				continue
			}
			if f.kill {
				err := syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
				time.Sleep(time.Second) // a signal to oneself may come after the call returns: nothing happens until then
				return errors.Join(errFault, err)
			}
			return fmt.Errorf("%w at %s", errFault, point)
		}
		return nil
	}, nil
}
