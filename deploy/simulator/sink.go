package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	maxNotification = 1 << 20
	scaleTimeout    = 5 * time.Second
)

// notification is what the sink reads of Alertmanager's webhook, version 4.
type notification struct {
	Version string `json:"version"`
	Alerts  []struct {
		Status      string            `json:"status"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"alerts"`
}

// receiver takes notifications.
type receiver struct {
	zeta   string
	logger *slog.Logger
	mux    *http.ServeMux
}

func newReceiver(zeta string, logger *slog.Logger) http.Handler {
	r := &receiver{zeta: zeta, logger: logger, mux: http.NewServeMux()}
	r.mux.HandleFunc("GET /healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "healthy") })
	r.mux.HandleFunc("POST /", r.take)
	return r.mux
}

// take answers 503 when the cluster cannot be reached: Alertmanager repeats what failed with 5xx, and nothing else.
func (r *receiver) take(w http.ResponseWriter, req *http.Request) {
	var n notification
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxNotification)).Decode(&n); err != nil || n.Version != "4" {
		http.Error(w, "not a notification of Alertmanager, version 4", http.StatusBadRequest)
		return
	}
	for _, a := range n.Alerts {
		r.logger.Info("Alert", "path", req.URL.Path, "status", a.Status, "alertname", a.Labels["alertname"], "scope", a.Labels["scope"],
			"recommendation", a.Labels["recommendation"], "recommended_workers", a.Annotations["recommended_workers"],
			"summary", a.Annotations["summary"])
		target, err := strconv.Atoi(a.Annotations["recommended_workers"])
		if r.zeta == "" || a.Status != "firing" || a.Labels["recommendation"] == "" || err != nil {
			continue
		}
		if err := r.scale(req.Context(), target); err != nil {
			r.logger.Warn("Scaling failed", "err", err)
			http.Error(w, "scaling failed", http.StatusServiceUnavailable)
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (r *receiver) scale(ctx context.Context, target int) error {
	ctx, cancel := context.WithTimeout(ctx, scaleTimeout)
	defer cancel()
	u := r.zeta + "/simulator/workers?" + url.Values{"target": {strconv.Itoa(target)}, "at_least": {"true"}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking for workers: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking for workers: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("asking for workers: %s", resp.Status)
	}
	return nil
}
