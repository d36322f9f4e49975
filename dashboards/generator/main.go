// Command generator writes the Grafana dashboards of zeta-scaler as JSON files into the folder that is its argument.
// The files are checked in; a test fails when they are not what this program writes.
//
// They are of schema version 1, which the SDK calls deprecated: it is what every Grafana in use takes from files.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generator FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes every dashboard into dir.
func write(dir string) error {
	files, err := render()
	if err != nil {
		return err
	}
	for name, text := range files {
		//nolint:gosec // checked-in files that everybody may read
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("writing a dashboard: %w", err)
		}
	}
	return nil
}

// render returns the text of every dashboard by its file name.
func render() (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, build := range map[string]func() *dashboard.DashboardBuilder{
		"overview.json":  overview,
		"signals.json":   signals,
		"actuation.json": actuation,
		"service.json":   service,
	} {
		d, err := build().Build()
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", name, err)
		}
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", name, err)
		}
		out[name] = append(text, '\n')
	}
	return out, nil
}
