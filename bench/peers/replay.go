package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/bench/past"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// attempt is a program that is run to its end.
type attempt struct {
	name string
	path string
	args []string
}

// measureReplay judges the same past with all that can.
func measureReplay(ctx context.Context, o options, dir string) (err error) {
	if o.folder == "" {
		o.folder = filepath.Join(dir, "past")
	}
	if o.folder, err = filepath.Abs(o.folder); err != nil {
		return err
	}
	if err := past.Make(ctx, o.folder, o.days); err != nil {
		return fmt.Errorf("making the past: %w", err)
	}
	server, err := startServer(ctx, o, dir, o.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	// What vmalert writes goes nowhere, at no cost to it.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	sink := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = sink.Serve(listener) }() // ends with Close
	defer sink.Close()
	attempts, err := replays(ctx, o, dir, server.url, "http://"+listener.Addr().String())
	if err != nil {
		return err
	}
	for round := range o.rounds {
		for i := range attempts {
			if err := attempts[(i+round)%len(attempts)].measure(ctx, dir, server); err != nil {
				return err
			}
		}
	}
	return nil
}

// replays are all that take part.
func replays(ctx context.Context, o options, dir, server, sink string) ([]attempt, error) {
	ruleSet := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(ruleSet, []byte(past.RuleSet()), 0o600); err != nil {
		return nil, err
	}
	rs, err := rules.ParseFile(ruleSet)
	if err != nil {
		return nil, err
	}
	begin, end := past.Judged(o.days)
	from, to := begin.Format(time.RFC3339), end.Format(time.RFC3339)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	period := []string{"--start", from, "--end", to}
	asks := []string{"ask", "-url", server, "-days", strconv.Itoa(o.days)}
	all := []attempt{
		{"zeta-scaler", o.zeta, append([]string{"backtest", ruleSet, "--prometheus.url", server}, period...)},
		{"zeta-scaler-folder", o.zeta, append([]string{"backtest", ruleSet, "--tsdb", o.folder}, period...)},
		{"bare", self, asks},
		{"bare-discarded", self, append(asks, "-discard")},
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	var clusters []string
	for i := range past.Scopes {
		clusters = append(clusters, past.Cluster(i))
	}
	for _, kind := range []struct {
		name     string
		clusters []string
		values   bool
	}{{"scoped", clusters, true}, {"scoped-alerts", clusters, false}, {"by", nil, true}, {"by-alerts", nil, false}} {
		f, err := writeRules(dir, "replay-"+kind.name, rs, past.Interval, kind.clusters, kind.values)
		if err != nil {
			return nil, err
		}
		// The default of points, and as many as the server gives.
		for _, points := range []int{1000, 10_000} {
			all = append(all, attempt{fmt.Sprintf("vmalert-%s/points=%d", kind.name, points), o.vmalert, []string{
				"-rule=" + f.path, "-datasource.url=" + server, "-remoteWrite.url=" + sink, "-remoteWrite.flushInterval=100ms",
				"-replay.timeFrom=" + from, "-replay.timeTo=" + to, "-replay.rulesDelay=0", "-replay.disableProgressBar",
				"-replay.maxDatapointsPerQuery=" + strconv.Itoa(points), "-httpListenAddr=" + address, "-loggerLevel=ERROR",
			}})
		}
	}
	return all, nil
}

// measure runs the program and reports what it took.
func (a attempt) measure(ctx context.Context, dir string, s *server) error {
	before, err := s.used()
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, strings.ReplaceAll(a.name, "/", "-")+".log"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, a.path, a.args...)
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	if err := cmd.Run(); err != nil {
		log, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w\n%s", a.name, err, log[max(0, len(log)-2000):])
	}
	wall := time.Since(began)
	after, err := s.used()
	if err != nil {
		return err
	}
	own := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	peak := 0.0
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = float64(u.Maxrss) * 1024 / 1e6
	}
	report("Replay/by="+a.name, figure{wall.Seconds(), "s"}, figure{(own + after - before).Seconds(), "s-processor"},
		figure{own.Seconds(), "s-own"}, figure{(after - before).Seconds(), "s-server"}, figure{peak, "MB-peak"})
	return nil
}

// ask makes the range queries of the rule set one after the other, each as long
// as a server allows, and does nothing with the answers.
func ask(ctx context.Context, o options) error {
	rs, err := rules.Parse("bench.yaml", []byte(past.RuleSet()))
	if err != nil {
		return err
	}
	opened, err := backtest.Place{API: &source.RemoteOptions{URLs: []string{o.url}, LookbackDelta: source.DefaultLookbackDelta}}.
		Open(ctx, time.Now(), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	begin, end := past.Judged(o.days)
	for _, expr := range questions(rs) {
		for from := begin; !from.After(end); from = from.Add(source.DefaultMaxPoints * past.Interval) {
			to := from.Add((source.DefaultMaxPoints - 1) * past.Interval)
			if to.After(end) {
				to = end
			}
			if err := askOnce(ctx, o, opened, expr, source.Window{Start: from, End: to, Step: past.Interval}); err != nil {
				return err
			}
		}
	}
	return opened.Close()
}

func askOnce(ctx context.Context, o options, opened *backtest.Opened, expr string, w source.Window) error {
	if !o.discard {
		_, err := opened.Range(ctx, expr, w)
		return err
	}
	form := url.Values{"query": {expr}, "start": {w.Start.Format(time.RFC3339)}, "end": {w.End.Format(time.RFC3339)}, "step": {w.Step.String()}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url+"/api/v1/query_range?"+form.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server answers %s", resp.Status)
	}
	return err
}
