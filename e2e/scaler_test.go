//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const (
	// readyWithin is how long a program of ours may take to be ready.
	readyWithin = 2 * time.Minute
)

// scaler is one running zeta-scaler that can be killed and started again.
type scaler struct {
	*harness.Process
	address string
	// ready is the path that answers once it is.
	ready   string
	command harness.Command
}

// newScaler writes the configuration of `zeta-scaler serve` or `exporter`;
// %s in it stands for the address to listen on.
func newScaler(t *testing.T, subcommand, name, config string) *scaler {
	t.Helper()
	path := lab.Build(t, harness.ZetaScaler)
	address := harness.FreeAddress(t)
	file := filepath.Join(lab.Dir, name+".yml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, config, address), 0o600))
	ready := "/-/ready"
	if subcommand == "exporter" {
		ready = "/" // its landing page
	}
	return &scaler{address: address, ready: ready, command: harness.Command{
		Name: name, Path: path, Args: []string{subcommand, "--config.file=" + file}, Dir: lab.Dir,
	}}
}

// start starts it and waits until it is ready; t is the test at whose end it
// is killed.
func (s *scaler) start(t *testing.T) {
	t.Helper()
	s.Process = lab.Start(t, s.command)
	harness.Wait(t, readyWithin, s.Name+" is ready", func(ctx context.Context) error {
		if err := s.Err(); err != nil {
			return err
		}
		_, err := harness.Get(ctx, s.url(s.ready))
		return err
	})
}

func (s *scaler) url(path string) string { return harness.URL(s.address) + path }

// status is the one scope's entry of /autoscaler/status.
func (s *scaler) status(ctx context.Context) (api.ScopeStatus, error) {
	client := api.Client{BaseURL: s.url("")}
	reply, err := client.Status(ctx, "")
	if err != nil {
		return api.ScopeStatus{}, err
	}
	if len(reply.Scopes) != 1 {
		return api.ScopeStatus{}, fmt.Errorf("status has %d scopes, want 1", len(reply.Scopes))
	}
	return reply.Scopes[0], nil
}

// waitFor waits for a published decision and returns it.
func (s *scaler) waitFor(t *testing.T, limit time.Duration, what string, accept func(decision) bool) scaling.Recommendation {
	t.Helper()
	var last scaling.Recommendation
	harness.Wait(t, limit, s.Name+" decides: "+what, func(ctx context.Context) error {
		st, err := s.status(ctx)
		if err != nil {
			return err
		}
		last = st.Recommendation
		if d := decisionOf(last); !accept(d) {
			return fmt.Errorf("%+v (%s)", d, last.Reason)
		}
		return nil
	})
	t.Logf("  %s", last.Reason)
	return last
}

// waitForRow waits for a row with an action and a target.
func (s *scaler) waitForRow(t *testing.T, limit time.Duration, row scaling.RowID, action scaling.Action, current, target int) scaling.Recommendation {
	t.Helper()
	want := fmt.Sprintf("%s, %s, %d → %d", row, action, current, target)
	return s.waitFor(t, limit, want, func(d decision) bool {
		return d.Row == row && d.Action == action && d.Current == fmt.Sprint(current) && d.Target == fmt.Sprint(target)
	})
}

// waitForPage waits until a page has what a regular expression asks for, and
// returns it.
func waitForPage(t *testing.T, url, pattern string) string {
	t.Helper()
	want, page := regexp.MustCompile(pattern), ""
	harness.Wait(t, patience, url+" has "+pattern, func(ctx context.Context) error {
		var err error
		if page, err = harness.Get(ctx, url); err == nil && !want.MatchString(page) {
			err = errors.New("it has not")
		}
		return err
	})
	return page
}

// checkMetricsPage has the real promtool judge a page of metrics.
func checkMetricsPage(t *testing.T, page string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), lab.Build(t, harness.Promtool), "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool check metrics: %s", out)
	require.Empty(t, string(out), "promtool check metrics has remarks")
}
