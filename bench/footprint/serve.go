package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
)

// patience bounds how long the first tick of the child may take.
const patience = 2 * time.Minute

// measureServe starts the program against a Prometheus API in this process and
// reads its memory after some ticks.
func measureServe(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "footprint-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rs, ruleFile, err := fleet.Quick(dir, o.interval)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fake := &prometheus{samples: fleet.New(rs, o.scopes), current: rs.Workers.Current.Text, asked: make(chan struct{}, 1000)}
	server := &http.Server{Handler: fake, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()

	configFile := filepath.Join(dir, "zeta-scaler.yml")
	if err := os.WriteFile(configFile, config(o, listener.Addr().String(), ruleFile, dir), 0o600); err != nil {
		return err
	}
	log := &bytes.Buffer{}
	child := exec.CommandContext(ctx, o.binary, "serve", "--config.file", configFile)
	child.Stderr, child.Stdout = log, log
	if err := child.Start(); err != nil {
		return err
	}
	r, err := fake.watch(ctx, o, strconv.Itoa(child.Process.Pid))
	_ = child.Process.Signal(os.Interrupt)
	if waitErr := child.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, log)
	}
	report("ResidentServe/store="+o.store, o.scopes,
		figure{"resident", r.now}, figure{"of-which-program", r.mapped}, figure{"peak", r.peak})
	return nil
}

func config(o options, address, ruleFile, dir string) []byte {
	return fmt.Appendf(nil, `web:
  listen_address: 127.0.0.1:0
prometheus:
  urls: [http://%s]
rule_sets:
  - file: %s
scope_defaults:
  rule_set: %s-quick
state:
  type: %s
  path: %s
`, address, ruleFile, fleet.PackName, o.store, filepath.Join(dir, "state.db"))
}

// prometheus answers the two queries of the HTTP API.
type prometheus struct {
	samples *fleet.Samples
	// current is the expression that is asked once per tick; each time asked is
	// told.
	current string
	asked   chan struct{}
}

// watch waits for the child's ticks and returns its memory after the last one.
func (p *prometheus) watch(ctx context.Context, o options, pid string) (resident, error) {
	deadline := time.After(patience + time.Duration(o.ticks)*o.interval)
	for range o.ticks + 1 { // the last one is over when the next one begins
		select {
		case <-p.asked:
		case <-deadline:
			return resident{}, errors.New("the service does not ask for samples")
		case <-ctx.Done():
			return resident{}, ctx.Err()
		}
	}
	return residentOf(pid)
}

// ServeHTTP implements http.Handler.
func (p *prometheus) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	expr := req.FormValue("query")
	v, ok := p.samples.Values[expr]
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch req.URL.Path {
	case "/api/v1/query":
		if expr == p.current {
			p.asked <- struct{}{}
		}
		p.write(w, "vector", v, `"value":`, point(req.FormValue("time"), "%s"))
	case "/api/v1/query_range":
		points, err := grid(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p.write(w, "matrix", v, `"values":`, "["+points+"]")
	default:
		http.NotFound(w, req)
	}
}

// write sends one element per cluster; the values' template has the value's
// place as %s.
func (p *prometheus) write(w http.ResponseWriter, kind string, v fleet.Value, key, template string) {
	idle, short := fill(template, v.Idle), fill(template, v.Short)
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":%q,"result":[`, kind)
	for i := range p.samples.N {
		values, comma := idle, ","
		if fleet.Lacks(i) {
			values = short
		}
		if i == 0 {
			comma = ""
		}
		fmt.Fprintf(w, `%s{"metric":{"cluster":%q},%s%s}`, comma, fleet.ClusterName(i), key, values)
	}
	fmt.Fprint(w, `]}}`)
}

func fill(template string, v float64) string {
	return strings.ReplaceAll(template, "%s", strconv.FormatFloat(v, 'f', -1, 64))
}

func point(time, v string) string { return fmt.Sprintf(`[%s,"%s"]`, time, v) }

// grid is a range query's points as a template.
func grid(req *http.Request) (string, error) {
	var n [3]float64
	for i, name := range []string{"start", "end", "step"} {
		v, err := strconv.ParseFloat(req.FormValue(name), 64)
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", name, err)
		}
		n[i] = v
	}
	var points []string
	for i := 0.0; n[0]+i*n[2] <= n[1]+0.0005; i++ {
		points = append(points, point(strconv.FormatFloat(n[0]+i*n[2], 'f', 3, 64), "%s"))
	}
	return strings.Join(points, ","), nil
}
