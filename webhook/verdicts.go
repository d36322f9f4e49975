package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// labelRecommendation has the id; package alerts writes it.
const labelRecommendation = "recommendation"

// answered is what the acceptor said about one id.
type answered struct {
	verdict scaling.Verdict
	err     error
}

// askAll asks for each recommendation once, in the order of the alerts. What was
// accepted before something failed stays accepted: the next attempt finds it to
// be a duplicate.
func (h *Receiver) askAll(ctx context.Context, m *message) (*Reply, *refusal) {
	h.warnOfTruncation(ctx, m)
	firing := firingIDs(m.Alerts)
	asked := make(map[string]answered, len(m.Alerts))
	reply := &Reply{Results: make([]Result, 0, len(m.Alerts)), TruncatedAlerts: m.TruncatedAlerts, Message: truncation(m.TruncatedAlerts)}
	var failures []error
	for i := range m.Alerts {
		a := &m.Alerts[i]
		id := a.Labels[labelRecommendation]
		result := Result{Fingerprint: handler.Shown(a.Fingerprint), Recommendation: id, Status: handler.Shown(a.Status)}
		if reason := unreadable(a); reason != "" {
			result.Recommendation, result.Result, result.Reason = handler.Shown(id), scaling.VerdictUnknown, reason
			h.instruments.alerts.WithLabelValues(string(result.Result)).Inc()
			reply.Results = append(reply.Results, result)
			continue
		}
		got, again := asked[id]
		if !again {
			got = h.ask(ctx, id, firing[id])
			asked[id] = got
			if got.err != nil {
				failures = append(failures, fmt.Errorf("recommendation %s: %w", id, got.err))
			}
		}
		if got.err != nil {
			h.instruments.alerts.WithLabelValues(resultError).Inc()
			continue
		}
		result.Result, result.Reason, result.ActionID = got.verdict.Result, got.verdict.Reason, got.verdict.ActionID
		h.instruments.alerts.WithLabelValues(string(result.Result)).Inc()
		reply.Results = append(reply.Results, result)
		h.logResult(ctx, &result, again)
	}
	if n := len(failures); n > 0 {
		return nil, &refusal{
			http.StatusServiceUnavailable,
			fmt.Sprintf("%d of %s %s no answer, because the state cannot be written, the decision loop is late or another replica leads; try again", n, scaling.Counted(len(asked), "recommendation"), scaling.Plural(n, "has", "have")),
			errors.Join(failures[:min(n, maxErrors)]...),
		}
	}
	if len(asked) > 0 {
		h.unable.Set("")
	}
	return reply, nil
}

// maxErrors is how many errors of one notification are logged.
const maxErrors = 8

// ask puts one question. When time is up, it is not even asked.
func (h *Receiver) ask(ctx context.Context, id string, firing bool) answered {
	if err := ctx.Err(); err != nil {
		return answered{err: err}
	}
	ask := h.acceptor.Resolve
	if firing {
		ask = h.acceptor.Accept
	}
	verdict, err := ask(ctx, id)
	return answered{verdict, err}
}

// firingIDs are the recommendations that an alert fires for. If another alert
// with the same id has resolved (somebody relabels alerts), it still stands.
func firingIDs(list []alert) map[string]bool {
	out := make(map[string]bool, len(list))
	for i := range list {
		if list[i].Status == string(model.AlertFiring) {
			out[list[i].Labels[labelRecommendation]] = true
		}
	}
	return out
}

// unreadable says why an alert asks for nothing, empty if it does ask.
func unreadable(a *alert) string {
	id := a.Labels[labelRecommendation]
	switch {
	case id == "":
		return "the alert has no label recommendation, so it asks for nothing; do not route it here"
	case len(id) > scaling.MaxRecommendationID:
		return fmt.Sprintf("the label recommendation has %d bytes, more than any id has", len(id))
	case a.Status != string(model.AlertFiring) && a.Status != string(model.AlertResolved):
		return fmt.Sprintf("the status is neither %s nor %s", model.AlertFiring, model.AlertResolved)
	default:
		return ""
	}
}

// logResult logs a verdict. What is asked again and again is not worth a line.
func (h *Receiver) logResult(ctx context.Context, r *Result, again bool) {
	level := slog.LevelInfo
	if again || r.Result == scaling.VerdictDuplicate || r.Result == scaling.VerdictResolved {
		level = slog.LevelDebug
	}
	h.logger.Log(ctx, level, "webhook answered", "recommendation", r.Recommendation, "status", r.Status,
		"result", r.Result, "reason", r.Reason, "action", r.ActionID)
}

func truncation(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Alertmanager left out %s, and nothing was done about %s: set max_alerts of this receiver to 0, and group by recommendation", scaling.Counted(n, "alert"), scaling.Plural(n, "it", "them"))
}

func (h *Receiver) warnOfTruncation(ctx context.Context, m *message) {
	if m.TruncatedAlerts == 0 {
		return
	}
	h.instruments.truncated.Add(float64(m.TruncatedAlerts))
	h.logger.WarnContext(ctx, "Alertmanager left out alerts of a notification; set max_alerts of the receiver to 0",
		"truncated_alerts", m.TruncatedAlerts, "group_key", handler.Shown(m.GroupKey))
}
