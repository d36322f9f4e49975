package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// server is the Prometheus that everybody asks. It scrapes nothing.
type server struct {
	*process
	url, config string
}

func startServer(ctx context.Context, o options, dir, data string) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + address, config: filepath.Join(dir, "prometheus.yml")}
	if err := os.WriteFile(s.config, []byte("rule_files: []\n"), 0o600); err != nil {
		return nil, err
	}
	s.process, err = start(dir, "prometheus", o.prometheus, "--config.file="+s.config, "--storage.tsdb.path="+data,
		"--storage.tsdb.retention.time=10y", "--web.listen-address="+address, "--web.enable-lifecycle", "--log.level=warn")
	if err != nil {
		return nil, err
	}
	return s, s.until(ctx, func() error {
		_, err := get(ctx, s.url+"/-/ready")
		return err
	})
}

// rules has the server evaluate the rules of a file; none for "".
func (s *server) rules(ctx context.Context, file string) error {
	text := "rule_files: []\n"
	if file != "" {
		text = fmt.Sprintf("rule_files: [%q]\n", file)
	}
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/-/reload", http.NoBody)
	if err != nil {
		return err
	}
	_, err = do(req)
	return err
}

// evaluated is how many rules the server has evaluated.
func (s *server) evaluated(ctx context.Context) (float64, error) {
	groups, err := samples(ctx, s.url, "prometheus_rule_evaluations_total")
	total := 0.0
	for _, n := range groups {
		total += n
	}
	return total, err
}

// samples are those of a metric.
func samples(ctx context.Context, target, name string) ([]float64, error) {
	page, err := get(ctx, target+"/metrics")
	if err != nil {
		return nil, err
	}
	var all []float64
	for line := range strings.Lines(string(page)) {
		labels, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if i := strings.LastIndexByte(line, '}'); i >= 0 {
			labels, value, ok = line[:i], strings.TrimSpace(line[i+1:]), true
		}
		if !ok || labels != name && !strings.HasPrefix(labels, name+"{") {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("reading %s of %s: %w", name, target, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// alerts is how many alerts a server or vmalert has, pending ones included.
func alerts(ctx context.Context, target string) (int, error) {
	body, err := get(ctx, target+"/api/v1/alerts")
	if err != nil {
		return 0, err
	}
	var reply struct {
		Data struct {
			Alerts []json.RawMessage `json:"alerts"`
		} `json:"data"`
	}
	err = json.Unmarshal(body, &reply)
	return len(reply.Data.Alerts), err
}

func get(ctx context.Context, target string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	return do(req)
}

func do(req *http.Request) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s %s", req.URL.Path, resp.Status, bytes.TrimSpace(body))
	}
	return body, err
}

// counter passes requests on to the server and counts the instant queries, so
// that nothing has to be asked meanwhile. Its own work is nobody's.
type counter struct {
	url   string
	asked atomic.Int64
	// ranged are the range queries, which belong to a start or to ticks that were
	// late.
	ranged atomic.Int64
	// running are those without an answer yet.
	running atomic.Int64
	server  *http.Server
}

func newCounter(ctx context.Context, to string) (*counter, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	pass := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	c := &counter{url: "http://" + address}
	c.server = &http.Server{Addr: address, ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.running.Add(1)
		defer c.running.Add(-1) // also where the client has gone, which is a panic
		pass.ServeHTTP(w, r)
		switch r.URL.Path {
		case "/api/v1/query":
			c.asked.Add(1)
		case "/api/v1/query_range":
			c.ranged.Add(1)
		}
	})}
	go func() { _ = c.server.ListenAndServe() }() // ends with Close
	return c, nil
}
