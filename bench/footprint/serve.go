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
	asked := make(ticked, 1000)
	server := &http.Server{ReadHeaderTimeout: patience, Handler: &fleet.Server{Samples: fleet.New(rs, o.scopes), Asked: func(expr string) {
		if expr == rs.Workers.Current.Text {
			asked <- struct{}{}
		}
	}}}
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
	r, err := asked.watch(ctx, o, strconv.Itoa(child.Process.Pid))
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

// ticked is told each tick of the child, when it asks for the worker counts.
type ticked chan struct{}

// watch waits for the child's ticks and returns its memory after the last one.
func (t ticked) watch(ctx context.Context, o options, pid string) (resident, error) {
	deadline := time.After(patience + time.Duration(o.ticks)*o.interval)
	for range o.ticks + 1 { // the last one is over when the next one begins
		select {
		case <-t:
		case <-deadline:
			return resident{}, errors.New("the service does not ask for samples")
		case <-ctx.Done():
			return resident{}, ctx.Err()
		}
	}
	return residentOf(pid)
}
