package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// alertmanager stands in for an Alertmanager with the routes of
// alerts/alertmanager.yml, for as much of them as a demo needs: every
// SCALE_OUT is a group of its own, told to the webhook at once when it begins
// and when it ends, and never again. It has no silences and sends no mail.
type alertmanager struct {
	// now is virtual time, to which the alerts' endsAt belongs.
	now func() time.Time
	// client reaches the webhook, which is at url.
	client *http.Client
	url    string

	mu     sync.Mutex
	firing map[string]bool // by recommendation id
}

// maxAnswer is how much of an error the webhook is quoted with, in bytes.
const maxAnswer = 512

// receivedAlert is an alert as it comes in, in the format of API v2.
type receivedAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
}

// notification is the body of a webhook, version 4.
type notification struct {
	Version         string            `json:"version"`
	GroupKey        string            `json:"groupKey"`
	TruncatedAlerts int               `json:"truncatedAlerts"`
	Receiver        string            `json:"receiver"`
	Status          string            `json:"status"`
	Alerts          []notifiedAlert   `json:"alerts"`
	GroupLabels     map[string]string `json:"groupLabels"`
	CommonLabels    map[string]string `json:"commonLabels"`
}

type notifiedAlert struct {
	Status string `json:"status"`
	receivedAlert
}

// ServeHTTP takes alerts and tells the webhook before it answers.
func (a *alertmanager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var alerts []receivedAlert
	if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for i := range alerts {
		if err := a.take(r.Context(), &alerts[i]); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
}

func (a *alertmanager) take(ctx context.Context, alert *receivedAlert) error {
	id := alert.Labels["recommendation"]
	if id == "" || alert.Labels["action"] != "SCALE_OUT" {
		return nil // for people
	}
	firing := alert.EndsAt.After(a.now())
	a.mu.Lock()
	known := a.firing[id]
	if firing {
		a.firing[id] = true
	} else {
		delete(a.firing, id)
	}
	a.mu.Unlock()
	if firing == known {
		return nil
	}
	status := "resolved"
	if firing {
		status = "firing"
	}
	return a.notify(ctx, status, alert)
}

func (a *alertmanager) notify(ctx context.Context, status string, alert *receivedAlert) error {
	body, err := json.Marshal(notification{
		Version: "4", GroupKey: `{}/{action="SCALE_OUT"}:{recommendation="` + alert.Labels["recommendation"] + `"}`,
		Receiver: "scaler", Status: status, Alerts: []notifiedAlert{{status, *alert}},
		GroupLabels: map[string]string{"recommendation": alert.Labels["recommendation"]}, CommonLabels: alert.Labels,
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		return fmt.Errorf("the webhook answered %s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return nil
}

// inMemory is a listener whose connections are dialled by calling dial.
type inMemory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInMemory() *inMemory {
	return &inMemory{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *inMemory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *inMemory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *inMemory) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *inMemory) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "alertmanager" }
