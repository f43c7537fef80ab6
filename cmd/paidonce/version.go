package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the program's own; a build from a checkout adds the revision.
const version = "0.1.0"

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Out, "paidonce %s (%s, %s/%s)\n", fullVersion(), runtime.Version(), runtime.GOOS,
				runtime.GOARCH)
			return err
		}}
}

func fullVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return version + "+" + setting.Value[:12]
		}
	}
	return version
}
