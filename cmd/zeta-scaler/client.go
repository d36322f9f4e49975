package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
)

// defaultServer is where a client looks for the service.
const defaultServer = "http://127.0.0.1:9880"

// clientFlags are --server and --token-file of the commands that talk to a
// running service.
type clientFlags struct{ server, tokenFile string }

func addClientFlags(cmd *cobra.Command) *clientFlags {
	f := &clientFlags{}
	cmd.Flags().StringVar(&f.server, "server", defaultServer, "URL of a running zeta-scaler")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "file with a bearer token")
	return f
}

// addLimitFlag adds --limit, how many of something are asked for; the function
// checks and returns it.
func addLimitFlag(cmd *cobra.Command, things string) func() (int, error) {
	limit := cmd.Flags().Int("limit", 50, fmt.Sprintf("at most so many %s, 1 to %d", things, maxEntries))
	return func() (int, error) {
		if *limit < 1 || *limit > maxEntries {
			return 0, usagef("--limit is %d, expected 1 to %d", *limit, maxEntries)
		}
		return *limit, nil
	}
}

func (f *clientFlags) client() (*api.Client, error) {
	if u, err := url.Parse(f.server); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usagef("--server is %q, expected a URL such as %s", f.server, defaultServer)
	}
	c := &api.Client{BaseURL: f.server}
	if f.tokenFile != "" {
		b, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		c.Token = strings.TrimSpace(string(b))
	}
	return c, nil
}
