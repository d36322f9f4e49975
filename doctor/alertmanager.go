package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

const (
	linkAlertmanager = "alertmanager"
	linkCallback     = "callback"
)

// alertmanagers asks each of them whether it is there and takes alerts.
func (c *chain) alertmanagers(ctx context.Context) {
	if len(c.cfg.Alerting.Alertmanagers) == 0 {
		c.skip(linkAlertmanager, "", "none is configured (alerting.alertmanagers): nobody is told by the service itself")
		return
	}
	for i := range c.cfg.Alerting.Alertmanagers {
		c.alertmanager(ctx, &c.cfg.Alerting.Alertmanagers[i])
	}
}

func (c *chain) alertmanager(ctx context.Context, a *config.Alertmanager) {
	shown := shownURL(a.URL)
	client, err := outgoing.New(outgoing.Options{Name: "doctor", Config: a.HTTPConfig})
	if err != nil {
		c.bad(linkAlertmanager, shown, "mend alerting.alertmanagers[].http_config", "%v", err)
		return
	}
	defer client.CloseIdleConnections()
	ctx, cancel := c.within(ctx)
	defer cancel()
	base := strings.TrimRight(a.URL, "/") + "/api/v2"
	// An empty list tells whether alerts would be taken, and nobody.
	if _, err := ask(ctx, client, http.MethodPost, base+"/alerts", "[]"); err != nil {
		c.bad(linkAlertmanager, shown, c.advice(err, "alerting.alertmanagers[].url", "alerting.alertmanagers[].http_config", "try curl URL/-/healthy from this machine"), "%s", oneLine(err))
		return
	}
	c.ok(linkAlertmanager, shown, "takes alerts")
	body, err := ask(ctx, client, http.MethodGet, base+"/status", "")
	if err != nil {
		c.doubt(linkCallback, shown, "", "its routes are not known: %s", oneLine(err))
		return
	}
	var status struct {
		Config struct {
			Original string `json:"original"`
		} `json:"config"`
	}
	if err := json.Unmarshal(body, &status); err != nil {
		c.doubt(linkCallback, shown, "", "its status cannot be read: %s", oneLine(err))
		return
	}
	c.routed(shown, status.Config.Original)
}

// maxReply bounds a reply: the status holds the whole configuration.
const maxReply = 4 << 20

func ask(ctx context.Context, client *outgoing.Client, method, url, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	reply, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		return nil, err
	}
	if reply.StatusCode/100 != 2 {
		return nil, fmt.Errorf("answered %s: %s", outgoing.StatusText(reply.StatusCode), outgoing.OneLine(string(text), 200))
	}
	return text, nil
}

// routed follows the alert of each scope of mode webhook through the routes.
func (c *chain) routed(shown, text string) {
	cfg, err := parseRoutes(text)
	if err != nil {
		c.doubt(linkCallback, shown, "", "its routes cannot be read: %s", oneLine(err))
		return
	}
	for i := range c.cfg.Scopes {
		s := &c.cfg.Scopes[i]
		if s.Mode != scaling.Webhook {
			continue
		}
		scope := c.cfg.Resolved(s)
		c.route(shown, cfg, scope)
	}
}

func (c *chain) route(shown string, cfg *routing, scope scaling.Scope) {
	labels := map[string]string{
		"alertname": alerts.ScaleOutRecommended, "scope": scope.Key, "severity": alerts.Warning,
		"action": string(scaling.ScaleOut), "recommendation": "00000000-0000-7000-8000-000000000000",
	}
	for _, l := range scope.Labels {
		if !slices.Contains(alerts.ReservedLabels(), l.Name) {
			labels[l.Name] = l.Value
		}
	}
	receivers := cfg.receivers(labels)
	var ours, hidden []string
	for _, name := range receivers {
		for _, address := range cfg.webhooks(name) {
			switch {
			case strings.HasSuffix(strings.TrimRight(address, "/"), webhookPath):
				ours = append(ours, name)
			case address == hiddenURL:
				hidden = append(hidden, name)
			}
		}
	}
	subject := scope.Key + " at " + shown
	switch {
	case len(ours) > 0:
		c.ok(linkCallback, subject, "its recommendations come back by receiver %s", listed(slices.Compact(ours)))
	case len(hidden) > 0:
		c.ok(linkCallback, subject, "its recommendations go to the webhook of receiver %s, whose address Alertmanager keeps to itself", listed(slices.Compact(hidden)))
	default:
		c.bad(linkCallback, subject, "take the first route of alerts/alertmanager.yml (docs/alerts.md) into its configuration, before the routes of people, with continue: true",
			"its recommendations go to %s and never come back to %s", listed(receivers), webhookPath)
	}
}
