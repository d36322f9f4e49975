package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// promReadyWithin covers a start that replays a log, on a busy machine.
	promReadyWithin = 2 * time.Minute
	promEndsWithin  = 2 * time.Minute
)

// PrometheusServer is a real Prometheus with its own data folder, which it
// keeps over restarts.
type PrometheusServer struct {
	*Process
	URL string
	// Address is host:port.
	Address string

	lab     *Lab
	command Command
}

// PrometheusOptions are what a Prometheus is started with.
type PrometheusOptions struct {
	// Name tells several apart; it names log and data folder.
	Name string
	// Config is its configuration file's text.
	Config string
	// Data is an existing data folder; empty makes one.
	Data string
}

// StartPrometheus builds and starts a Prometheus and waits until it is ready.
func (l *Lab) StartPrometheus(t testing.TB, o PrometheusOptions) *PrometheusServer {
	t.Helper()
	path := l.Build(t, Prometheus)
	config := filepath.Join(l.Dir, o.Name+".yml")
	if err := os.WriteFile(config, []byte(o.Config), 0o600); err != nil {
		t.Fatalf("writing Prometheus' configuration: %v", err)
	}
	data := o.Data
	if data == "" {
		data = filepath.Join(l.Dir, o.Name+"-data")
	}
	address := FreeAddress(t)
	p := &PrometheusServer{
		Address: address, URL: URL(address), lab: l,
		command: Command{Name: o.Name, Path: path, Args: []string{
			"--config.file=" + config, "--storage.tsdb.path=" + data, "--storage.tsdb.retention.time=10y",
			"--web.listen-address=" + address, "--log.level=warn",
			// Targets are taken up at once instead of after 5 s.
			"--scrape.discovery-reload-interval=100ms",
		}},
	}
	p.Start(t)
	return p
}

// Start starts it on the same address and data, and waits until it is ready.
func (p *PrometheusServer) Start(t testing.TB) {
	t.Helper()
	p.Process = p.lab.Start(t, p.command)
	Wait(t, promReadyWithin, p.Name+" (Prometheus "+PrometheusVersion+") is ready", func(ctx context.Context) error {
		if err := p.Err(); err != nil {
			return err
		}
		_, err := Get(ctx, p.URL+"/-/ready")
		return err
	})
}

// Stop ends it as an operator would.
func (p *PrometheusServer) Stop(t testing.TB) {
	t.Helper()
	if err := p.Terminate(promEndsWithin); err != nil {
		t.Fatalf("stopping Prometheus: %v", err)
	}
	t.Logf("stopped %s", p.Name)
}

// Value asks for the one sample of an expression. No sample is an error.
func (p *PrometheusServer) Value(ctx context.Context, expr string) (float64, error) {
	body, err := Get(ctx, p.URL+"/api/v1/query?"+url.Values{"query": {expr}}.Encode())
	if err != nil {
		return 0, err
	}
	var reply struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		return 0, fmt.Errorf("reading Prometheus' answer: %w", err)
	}
	if n := len(reply.Data.Result); n != 1 {
		return 0, fmt.Errorf("%s has %d samples, want 1", expr, n)
	}
	text, _ := reply.Data.Result[0].Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: value %q: %w", expr, text, err)
	}
	return v, nil
}

// WaitFor waits until the one sample of an expression has a value.
func (p *PrometheusServer) WaitFor(t testing.TB, limit time.Duration, expr string, want float64) {
	t.Helper()
	what := fmt.Sprintf("%s = %g", strings.Join(strings.Fields(expr), " "), want)
	Wait(t, limit, what, func(ctx context.Context) error {
		got, err := p.Value(ctx, expr)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("is %g", got)
		}
		return nil
	})
}
