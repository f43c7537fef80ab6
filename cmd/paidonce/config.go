package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// config is the whole configuration. The names are those of the file; cmd/paidonce/testdata/example.yaml explains them.
type config struct {
	Listen     string          `yaml:"listen"`
	Data       string          `yaml:"data"`
	Instance   string          `yaml:"instance"`
	Database   databaseConfig  `yaml:"database"`
	Log        logConfig       `yaml:"log"`
	Accounts   []accountConfig `yaml:"accounts"`
	Ask        askingConfig    `yaml:"ask,omitempty"`
	Metrics    string          `yaml:"metrics,omitempty"` // address for Prometheus; empty: none
	Settlement []ruleConfig    `yaml:"settlement,omitempty"`

	source  *source           // the file that it came from; nil without one
	givenBy map[string]string // place of a value → the flag or variable that gave it instead of the file
}

type databaseConfig struct {
	URL     secret `yaml:"url,omitempty"`
	URLFile string `yaml:"url_file,omitempty"`
}

type logConfig struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // auto, json, text, pretty
}

// secret is a text that is never shown. Only reveal gives it away.
type secret string

const masked = "***"

// String implements fmt.Stringer.
func (s secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString implements fmt.GoStringer, so that %#v shows nothing either.
func (s secret) GoString() string { return s.String() }

// MarshalYAML masks the secret in what is printed.
func (s secret) MarshalYAML() (any, error) { return s.String(), nil }

// MarshalJSON masks the secret in what is printed.
func (s secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

func (s secret) reveal() string { return string(s) }

// problem is a mistake in the configuration, at a place in the file such as "$.accounts[1].mch_id".
type problem struct {
	path string
	err  error
}

func (p *problem) Error() string { return strings.TrimPrefix(p.path, "$.") + ": " + p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func problemf(path, format string, args ...any) error {
	return &problem{path, fmt.Errorf(format, args...)}
}

// env reads a variable of ours, or the file that NAME_FILE names.
func (a *app) env(name string) (string, error) {
	value, given := a.Lookup(name)
	path, inFile := a.Lookup(name + "_FILE")
	switch {
	case given && inFile:
		return "", usagef("%s and %s_FILE are both set; only one may be", name, name)
	case inFile:
		text, err := os.ReadFile(path)
		if err != nil {
			return "", usagef("%s_FILE: %w", name, err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	return value, nil
}

// loadConfig reads the configuration that is in force: file, then environment, then flags. Without a file it is that
// of the sandbox. Every error is an errUsage and names the line that is wrong, if a line is.
func (a *app) loadConfig() (*config, error) {
	path, err := a.env("PAIDONCE_CONFIG")
	if err != nil {
		return nil, err
	}
	c := sandboxConfig()
	if path = firstOf(a.flags.config, path); path != "" {
		if c, err = a.readConfig(path); err != nil {
			return nil, &usageError{err}
		}
	}
	if err := a.override(c); err != nil {
		return nil, err
	}
	if err := c.check(a.Clock); err != nil {
		return nil, &usageError{c.blame(err)}
	}
	return c, nil
}

// blame says where a mistake was made: by the flag or variable that gave the value, else in the file.
func (c *config) blame(err error) error {
	var p *problem
	if errors.As(err, &p) && c.givenBy[p.path] != "" {
		return fmt.Errorf("%s: %w", c.givenBy[p.path], p.err)
	}
	return c.source.locate(err)
}

// override lets environment and flags have their say.
func (a *app) override(c *config) error {
	c.givenBy = map[string]string{}
	for _, setting := range []struct {
		place, variable, flag, given string
		target                       *string
	}{
		{"$.listen", "PAIDONCE_LISTEN", "--listen", a.flags.listen, &c.Listen},
		{"$.data", "PAIDONCE_DATA", "--data", a.flags.data, &c.Data},
		{"$.instance", "PAIDONCE_INSTANCE", "--instance", a.flags.instance, &c.Instance},
		{"$.database.url", "PAIDONCE_DATABASE_URL", "--database", a.flags.database, (*string)(&c.Database.URL)},
	} {
		value, err := a.env(setting.variable)
		if err != nil {
			return err
		}
		if value != "" {
			*setting.target, c.givenBy[setting.place] = value, setting.variable
		}
		if setting.given != "" {
			*setting.target, c.givenBy[setting.place] = setting.given, setting.flag
		}
	}
	if c.Database.URL == "" {
		c.Database.URL = secret("sqlite:" + filepath.Join(c.Data, "paidonce.db"))
	}
	if c.Instance == "" {
		c.Instance = instanceName()
	}
	return nil
}

// instanceName tells processes apart in timelines. The process id is part of it because two instances may share a host.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "paidonce"
	}
	id := fmt.Sprintf("-%d", os.Getpid())
	return host[:min(len(host), 64-len(id))] + id
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// withDefaults fills in what a file leaves out.
func (c *config) withDefaults() {
	c.Listen = firstOf(c.Listen, "127.0.0.1:8480")
	c.Data = firstOf(c.Data, "paidonce-data")
	c.Log.Level = firstOf(c.Log.Level, "info")
	c.Log.Format = firstOf(c.Log.Format, "auto")
}

// sandboxConfig is in force when there is no file: one sandbox account per channel, for tenant 1.
func sandboxConfig() *config {
	c := &config{Ask: askingConfig{After: "10s"}} // soon enough to be watched
	c.withDefaults()
	for _, kind := range kinds() {
		account := accountConfig{Name: "sandbox", Channel: kind.path, Tenant: 1, Mode: modeSandbox}
		kind.identify(&account)
		c.Accounts = append(c.Accounts, account)
	}
	return c
}

// allSandbox reports whether no account of a real merchant is configured.
func (c *config) allSandbox() bool {
	for _, account := range c.Accounts {
		if account.Mode != modeSandbox {
			return false
		}
	}
	return true
}
