package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Finding is an unsafe setting: what it is, what was found and what to do. It wraps ErrUnsafe.
type Finding struct {
	Setting string
	Found   string
	Want    string
	Remedy  string
}

// Error tells a person what to do.
func (f *Finding) Error() string {
	return fmt.Sprintf("%v: %s is %q, must be %s. %s", ErrUnsafe, f.Setting, f.Found, f.Want, f.Remedy)
}

// Unwrap makes errors.Is(err, ErrUnsafe) true.
func (f *Finding) Unwrap() error { return ErrUnsafe }

// Rule is one setting that a database must have. Query returns one text value.
type Rule struct {
	Setting string
	Query   string
	Allowed []string // lower case
	Remedy  string
}

// CheckRules runs every rule on the pool; the first setting that is not allowed is returned as a *Finding.
func CheckRules(ctx context.Context, pool *sql.DB, rules []Rule) error {
	for _, rule := range rules {
		var found sql.NullString
		if err := pool.QueryRowContext(ctx, rule.Query).Scan(&found); err != nil {
			return fmt.Errorf("store: read %s: %w", rule.Setting, err)
		}
		if !allowed(strings.ToLower(found.String), rule.Allowed) {
			return &Finding{rule.Setting, found.String, strings.Join(rule.Allowed, " or "), rule.Remedy}
		}
	}
	return nil
}

func allowed(found string, list []string) bool {
	for _, value := range list {
		if found == value {
			return true
		}
	}
	return false
}
