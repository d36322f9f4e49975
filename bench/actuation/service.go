package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	actuatorlog "github.com/zeta-scaler/zeta-scaler/actuators/log"
	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// epoch is that of the one leader.
const epoch = 1

// token is the credential of who sends notifications.
const token = "of-the-benchmark"

// service is what a leading `serve` has.
type service struct {
	store  *file.Store
	board  *evaluator.Board
	server *web.Server
	logger *slog.Logger
}

func open(ctx context.Context, dir string) (*service, error) {
	s := &service{board: evaluator.NewBoard(epoch), logger: slog.New(slog.DiscardHandler)}
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte(token+"\n"), 0o600); err != nil {
		return nil, err
	}
	var err error
	if s.store, err = file.Open(ctx, file.Options{Path: filepath.Join(dir, "state.db")}); err != nil {
		return nil, err
	}
	s.server, err = web.Listen(ctx, web.Options{ListenAddress: "127.0.0.1:0", BearerTokensFile: tokens, OpenReads: true, Logger: s.logger})
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	return s, nil
}

// parts are those of a term that acts for every cluster by the actuator log.
func (s *service) parts(clusters int, mode scaling.Mode) app.Parts {
	scopes := make([]actuators.ScopeConfig, clusters)
	for i := range scopes {
		scopes[i] = actuators.ScopeConfig{Scope: scopeOf(i), Mode: mode, Kind: "log", Actuator: actuatorlog.New(s.logger)}
	}
	return app.Parts{
		Setup: app.Setup{Scopes: scopes}, Clock: evaluator.WallClock{}, Store: s.store, Epoch: epoch, Board: s.board,
		Handlers: map[string]events.Handler{"log": events.NewLog(s.logger)}, Logger: s.logger, Registry: prometheus.NewRegistry(),
	}
}

func scopeOf(cluster int) scaling.Scope {
	return scaling.NewScope([]scaling.Label{{Name: "cluster", Value: fleet.ClusterName(cluster)}})
}

// run serves and acts while do measures.
func (s *service) run(ctx context.Context, p app.Parts, do func(context.Context) error) (err error) {
	defer func() { err = errors.Join(err, s.store.Close()) }()
	term, err := app.NewTerm(ctx, p)
	if err != nil {
		return err
	}
	handler, err := app.NewHandler(app.HandlerOptions{
		Options:  api.Options{Board: s.board, Store: s.store, Logger: s.logger},
		Acceptor: term.Acceptor(), Gatherer: p.Registry, Registry: p.Registry,
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	eg, running := errgroup.WithContext(running)
	eg.Go(func() error { return s.server.Serve(running, handler) })
	eg.Go(func() error { return term.Run(running) })
	err = do(running)
	stop()
	return errors.Join(err, eg.Wait())
}

// sender is an Alertmanager with several connections.
type sender struct {
	url    string
	client *http.Client
}

func (s *service) sender(connections int) *sender {
	return &sender{
		url: "http://" + s.server.Addr().String() + "/webhook/alertmanager",
		client: &http.Client{
			Transport: &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections, DisableCompression: true},
			Timeout:   10 * time.Second,
		},
	}
}

// post delivers a notification and requires one result for all of its alerts.
func (s *sender) post(ctx context.Context, body []byte, want scaling.VerdictResult) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the webhook answers %s: %s", resp.Status, answer)
	}
	all, right := bytes.Count(answer, []byte(`"result":`)), bytes.Count(answer, []byte(`"result":"`+string(want)+`"`))
	if all == 0 || all != right {
		return fmt.Errorf("expected %s for every alert, but the webhook answers %s", want, answer)
	}
	return nil
}

// notification is what Alertmanager would send about recommendations.
func notification(list []*scaling.Recommendation) ([]byte, error) {
	type alert struct {
		Status       string            `json:"status"`
		Labels       map[string]string `json:"labels"`
		Annotations  map[string]string `json:"annotations"`
		StartsAt     time.Time         `json:"startsAt"`
		EndsAt       time.Time         `json:"endsAt"`
		GeneratorURL string            `json:"generatorURL"`
		Fingerprint  string            `json:"fingerprint"`
	}
	m := struct {
		Version     string            `json:"version"`
		GroupKey    string            `json:"groupKey"`
		Status      string            `json:"status"`
		Receiver    string            `json:"receiver"`
		GroupLabels map[string]string `json:"groupLabels"`
		ExternalURL string            `json:"externalURL"`
		Alerts      []alert           `json:"alerts"`
	}{
		Version: "4", GroupKey: `{}/{alertname="ZetaScaleOut"}:{}`, Status: "firing", Receiver: "zeta-scaler",
		GroupLabels: map[string]string{"alertname": "ZetaScaleOut"}, ExternalURL: "http://alertmanager:9093",
	}
	for _, r := range list {
		m.Alerts = append(m.Alerts, alert{
			Status:      "firing",
			Labels:      map[string]string{"alertname": "ZetaScaleOut", "severity": "warning", "cluster": r.Scope, "recommendation": r.RecommendationID},
			Annotations: map[string]string{"summary": r.Scope + " needs more workers", "description": r.Reason},
			StartsAt:    r.Since, GeneratorURL: "http://zeta-scaler:8080/?scope=" + r.Scope, Fingerprint: "0123456789abcdef",
		})
	}
	return json.Marshal(m)
}
