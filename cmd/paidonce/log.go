package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"
)

// logger writes to the error stream: for people on a terminal, JSON for machines otherwise.
func (a *app) logger(c logConfig) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	format := c.Format
	if format == "auto" {
		format = "json"
		if terminal(a.Err) {
			format = "pretty"
		}
	}
	noColour, _ := a.Lookup("NO_COLOR")
	options := &slog.HandlerOptions{Level: level}
	switch format {
	case "pretty":
		return slog.New(tint.NewTextHandler(a.Err, &tint.Options{Level: level, TimeFormat: time.TimeOnly,
			NoColor: noColour != "" || !terminal(a.Err)})), nil
	case "text":
		return slog.New(slog.NewTextHandler(a.Err, options)), nil
	}
	return slog.New(slog.NewJSONHandler(a.Err, options)), nil
}

// terminal reports whether a person reads the stream.
func terminal(stream io.Writer) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}
