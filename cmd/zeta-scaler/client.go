package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
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
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return noneEmpty(cmd.Flags()) }
	return f
}

// noneEmpty refuses words that were given and are empty: --for "$LENGTH" without
// a LENGTH must not mean a pause for ever, nor --scope "$SCOPE" all of them.
func noneEmpty(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = usagef("--%s is empty; leave it out if it is not meant", f.Name)
		}
	})
	return err
}

func (f *clientFlags) client() (*api.Client, error) {
	if u, err := url.Parse(f.server); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usagef("--server is %q, expected a URL such as %s", f.server, defaultServer)
	}
	c := &api.Client{BaseURL: f.server}
	if f.tokenFile != "" {
		var err error
		if c.Token, err = readToken(f.tokenFile); err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
	}
	return c, nil
}

// readToken reads the one token of a file. It may be the service's own, with
// comments: lines that are empty or begin with # are none.
func readToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var tokens []string
	for line := range strings.Lines(strings.TrimPrefix(string(b), "\ufeff")) {
		if token := strings.TrimSpace(line); token != "" && !strings.HasPrefix(token, "#") {
			tokens = append(tokens, token)
		}
	}
	if len(tokens) != 1 {
		return "", fmt.Errorf("%s has %s, expected one", path, scaling.Counted(len(tokens), "token"))
	}
	return tokens[0], nil
}

// noArgs is cobra.NoArgs for commands without others below them: what they do
// not take is no unknown command, and may be meant for a flag.
func noArgs(flag string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return usagef("%s takes no argument: is --%s %s meant?", cmd.CommandPath(), flag, args[0])
	}
}
