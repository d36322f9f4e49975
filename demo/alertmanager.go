package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// alertmanager stands in for an Alertmanager with the routes of
// alerts/alertmanager.yml, for as much of them as a demo needs: every
// SCALE_OUT, and where workers are drained every SCALE_IN_CANDIDATE, is a group of its own, told to the webhook at once when it begins
// and when it ends, and never again. It has no silences and sends no mail.
type alertmanager struct {
	// now is virtual time, to which the alerts' endsAt belongs.
	now func() time.Time
	// drains routes SCALE_IN_CANDIDATE to the webhook, too.
	drains bool
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
	action := scaling.Action(alert.Labels["action"])
	mine := action == scaling.ScaleOut || a.drains && action == scaling.ScaleInCandidate
	if id == "" || !mine {
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
		Version: "4", GroupKey: `{}/{action="` + alert.Labels["action"] + `"}:{recommendation="` + alert.Labels["recommendation"] + `"}`,
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
