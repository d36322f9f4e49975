//go:build e2e && linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// memoryCgroup makes a cgroup that lets its processes have so many bytes of
// memory, and says how to read what they have had at most.
func memoryCgroup(t *testing.T, limit string) (procs, peak string) {
	t.Helper()
	for _, kind := range []struct{ folder, limit, peak string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"}, // version 1
		{"/sys/fs/cgroup", "memory.max", "memory.peak"},                                 // version 2
	} {
		dir, err := os.MkdirTemp(kind.folder, "zeta-scaler-e2e-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) }) // empty once the process is gone
		if err := os.WriteFile(filepath.Join(dir, kind.limit), []byte(limit), 0o600); err == nil {
			return filepath.Join(dir, "cgroup.procs"), filepath.Join(dir, kind.peak)
		}
	}
	t.Skip("no cgroup with a limit of memory can be made here")
	return "", ""
}

// manifestMemory is what the manifest of the service says about memory: its
// limit in bytes and the value of GOMEMLIMIT.
func manifestMemory(t *testing.T) (limit int, goLimit string) {
	t.Helper()
	text, err := os.ReadFile("../deploy/kubernetes/base/scaler.yaml")
	require.NoError(t, err)
	mebibytes := regexp.MustCompile(`limits:[^}]*memory: (\d+)Mi`).FindSubmatch(text)
	soft := regexp.MustCompile(`GOMEMLIMIT, value: (\w+)`).FindSubmatch(text)
	require.NotNil(t, mebibytes)
	require.NotNil(t, soft)
	n, err := strconv.Atoi(string(mebibytes[1]))
	require.NoError(t, err)
	return n << 20, string(soft[1])
}

// TestReadersWithinTheManifestsMemory has 3 000 scopes, the manifest's memory,
// and 40 clients without a credential that ask for all of them again and again,
// half of which do not read the answer. The service goes on and is not killed.
func TestReadersWithinTheManifestsMemory(t *testing.T) {
	const scopes, clients, interval = 3000, 40, 5 * time.Second
	limit, goLimit := manifestMemory(t)
	procs, peak := memoryCgroup(t, strconv.Itoa(limit))

	dir := t.TempDir()
	rs, file, err := fleet.Quick(dir, interval)
	require.NoError(t, err)
	var ticks atomic.Int64
	prometheus := httptest.NewServer(&fleet.Server{Samples: fleet.New(rs, scopes), Asked: func(expr string) {
		if expr == rs.Workers.Current.Text {
			ticks.Add(1)
		}
	}})
	defer prometheus.Close()
	s := newScaler(t, "serve", "readers", "web: {listen_address: '%s'}\nprometheus: {urls: ["+prometheus.URL+"]}\n"+
		"rule_sets: [{file: "+file+"}]\nscope_defaults: {rule_set: "+fleet.PackName+"-quick}\nstate: {path: "+filepath.Join(dir, "state.db")+"}\n")
	s.command.Env = []string{"GOMEMLIMIT=" + goLimit}
	s.Process = lab.Start(t, s.command)
	require.NoError(t, os.WriteFile(procs, []byte(strconv.Itoa(s.PID())), 0o600))
	reached := func(n int64) func(context.Context) error {
		return func(context.Context) error {
			if err := s.Err(); err != nil {
				return err
			}
			if got := ticks.Load(); got < n {
				return fmt.Errorf("%d ticks", got)
			}
			return nil
		}
	}
	harness.Wait(t, readyWithin, "two ticks", reached(2))

	ctx, stop := context.WithCancel(t.Context())
	var answered atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := greedy(ctx, s.address, i%2 == 0); err == nil {
					answered.Add(1)
				}
			}
		})
	}
	began, first := time.Now(), ticks.Load()
	harness.Wait(t, readyWithin, "five more ticks", reached(first+5))
	took := time.Since(began)
	stop()
	wg.Wait()
	require.NoError(t, s.Err())
	require.Positive(t, answered.Load())
	require.Less(t, took, 10*interval, "half of the ticks were missed")
	used, err := os.ReadFile(peak)
	if !errors.Is(err, os.ErrNotExist) { // old kernels do not say in version 2
		require.NoError(t, err)
	}
	t.Logf("%d answers in %s, at most %s of %d bytes", answered.Load(), took.Round(time.Millisecond), strings.TrimSpace(string(used)), limit)
}

// greedy asks for all scopes once, and reads the answer or lets it wait.
func greedy(ctx context.Context, address string, read bool) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if read {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, harness.URL(address)+"/autoscaler/status", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /autoscaler/status HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
		return err
	}
	select { // until it is thrown out, and a while longer
	case <-ctx.Done():
	case <-time.After(8 * time.Second):
	}
	return errors.New("not read")
}
