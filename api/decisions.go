package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// GetStatus serves the latest recommendation of every scope.
func (s *server) GetStatus(c echo.Context, params GetStatusParams) error {
	evaluations, err := s.selected(params.Scope)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	now, h, st := s.Now(), s.health(), s.standing(ctx)
	reply := Status{
		Leader: s.leads(c), LeaderName: s.leaderName(c), LeaderError: leaderProblem(c), MasterEpoch: s.Board.Epoch(),
		Sources: listed(h.Sources), Alertmanagers: listed(h.Alertmanagers), Clusters: listed(h.Clusters),
		Store: h.Store, NextTick: set(h.NextTick), ReloadFailure: h.Reload,
		Scopes: make([]ScopeStatus, len(evaluations)),
	}
	for i := range evaluations {
		reply.Scopes[i] = statusOf(&evaluations[i], &st, now)
	}
	return c.JSON(http.StatusOK, reply)
}

func statusOf(ev *scaling.Evaluation, st *standing, now time.Time) ScopeStatus {
	return ScopeStatus{
		Scope:          ev.Scope.Key,
		Labels:         listed(ev.Scope.Labels),
		Mode:           ev.Mode,
		Paused:         st.paused(ev, now),
		Pauses:         listed(st.pauses(now, ev.Scope.Key, state.GlobalKey)),
		TimedBounds:    listed(st.timed(now, ev)),
		Conflicts:      listed(st.conflicts(ev.Scope.Key)),
		Unpaused:       ev.Unpaused,
		Next:           ev.Next,
		FirstInQueue:   firstInQueue(ev, now),
		Failure:        st.failure(ev, now),
		Recommendation: complete(ev.Recommendation),
		Shadows:        listed(ev.Shadows),
		// The evaluation says what remained at its tick.
		CooldownRemainingSeconds: max(0, ev.CooldownRemainingSeconds-age(ev, now)),
		Action:                   actionOf(st.latest(ev)),
		Drain:                    drainOf(st.drain(ev)),
		Provisional:              ev.Provisional,
	}
}

func actionOf(x *scaling.Execution) *scaling.Execution {
	if x == nil {
		return nil
	}
	whole := wholeExecution(*x)
	return &whole
}

// GetMetrics serves the inputs of every scope.
func (s *server) GetMetrics(c echo.Context, params GetMetricsParams) error {
	evaluations, err := s.selected(params.Scope)
	if err != nil {
		return err
	}
	now := s.Now()
	reply := MetricsSnapshot{
		Leader: s.leads(c), MasterEpoch: s.Board.Epoch(),
		Scopes: make([]ScopeMetrics, len(evaluations)),
	}
	for i := range evaluations {
		reply.Scopes[i] = metricsOf(&evaluations[i], now)
	}
	return c.JSON(http.StatusOK, reply)
}

func metricsOf(ev *scaling.Evaluation, now time.Time) ScopeMetrics {
	r := complete(ev.Recommendation)
	m := ScopeMetrics{
		Scope:            ev.Scope.Key,
		Labels:           listed(ev.Scope.Labels),
		ObservedAt:       r.ObservedAt,
		ValidUntil:       r.ValidUntil,
		AgeSeconds:       age(ev, now),
		Fresh:            fresh(ev, now),
		Provisional:      ev.Provisional,
		IntervalSeconds:  ev.Interval,
		SlotMode:         ev.SlotMode,
		Deployment:       ev.Deployment,
		CurrentWorkers:   r.CurrentWorkers,
		ReportingWorkers: ev.ReportingWorkers,
		StaleWorkerCount: r.StaleWorkerCount,
		BootingWorkers:   ev.Booting,
		MinWorkers:       ev.MinWorkers,
		MaxWorkers:       ev.MaxWorkers,
		MetricsValid:     r.MetricsValid,
		Inputs:           make([]FreshInput, len(ev.Inputs)),
		Measurements:     r.MetricsSnapshot,
	}
	for i, in := range ev.Inputs {
		m.Inputs[i] = FreshInput{
			Input: in, ObservedAt: m.ObservedAt, AgeSeconds: m.AgeSeconds, Fresh: m.Fresh && in.Value.Known,
		}
	}
	return m
}

// age is how long ago the scope's tick was, in seconds; a clock that was set
// back does not make it negative.
func age(ev *scaling.Evaluation, now time.Time) float64 {
	return max(0, now.Sub(ev.Recommendation.ObservedAt).Seconds())
}

func fresh(ev *scaling.Evaluation, now time.Time) bool {
	return !now.After(ev.Recommendation.ValidUntil)
}

// GetDecisionTable serves the rows in order, and which one decided per scope.
func (s *server) GetDecisionTable(c echo.Context, params GetDecisionTableParams) error {
	evaluations, err := s.selected(params.Scope)
	if err != nil {
		return err
	}
	reply := DecisionTable{Rows: s.Table, Scopes: make([]ScopeRow, len(evaluations))}
	for i := range evaluations {
		r := &evaluations[i].Recommendation
		reply.Scopes[i] = ScopeRow{Scope: evaluations[i].Scope.Key, Row: r.Row, Action: r.Action}
	}
	return c.JSON(http.StatusOK, reply)
}
