package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// GetExplain serves why a decision was taken.
func (s *server) GetExplain(c echo.Context, params GetExplainParams) error {
	if params.Scope == "" {
		return refuse(http.StatusBadRequest, `invalid query: "scope" is missing`)
	}
	if params.Id == "" && params.At.IsZero() {
		ev, ok := s.Board.Evaluation(params.Scope)
		if !ok {
			return s.noScope(params.Scope)
		}
		x := s.explanation(recordOf(&ev), nil)
		x.FirstInQueue = firstInQueue(&ev, s.Now())
		return c.JSON(http.StatusOK, x)
	}
	return answer(c, storeTimeout+pastPatience, func(ctx context.Context) (Explanation, error) { return s.explained(ctx, params) })
}

// explained is about one entry of the history, or about a past time.
func (s *server) explained(ctx context.Context, params GetExplainParams) (Explanation, error) {
	if params.Id == "" {
		return s.decidedAt(ctx, params)
	}
	e, err := s.recorded(ctx, params)
	return s.ofRecord(e, err)
}

// ofRecord explains what was recorded.
func (s *server) ofRecord(e state.Entry, err error) (Explanation, error) {
	if err != nil {
		return Explanation{}, err
	}
	record, err := decodeRecord(e)
	if err != nil {
		return Explanation{}, fail(http.StatusInternalServerError, "the entry of the history cannot be read; the log says why", err)
	}
	return s.explanation(record, &e.ID), nil
}

// recorded finds one decision of the past: by its ID, or the one that held.
func (s *server) recorded(ctx context.Context, params GetExplainParams) (state.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	f := state.Filter{Scope: params.Scope, Kind: state.DecisionEntry, Until: params.At, Limit: 1}
	want := "recorded decision of that time"
	var id int64
	if params.Id != "" {
		if !params.At.IsZero() {
			return state.Entry{}, refuse(http.StatusBadRequest, "invalid query: give id or at, not both")
		}
		var err error
		if id, err = strconv.ParseInt(params.Id, 10, 64); err != nil || id == math.MaxInt64 {
			return state.Entry{}, refuse(http.StatusNotFound, "there is no recorded decision "+handler.Shown(params.Id))
		}
		f.Before, want = id+1, "recorded decision "+params.Id
	}
	entries, err := s.History.History(ctx, f)
	switch {
	case err != nil:
		return state.Entry{}, s.storeFailure(err)
	case len(entries) == 0 || id > 0 && entries[0].ID != id:
		return state.Entry{}, refuse(http.StatusNotFound, fmt.Sprintf("scope %q has no %s", handler.Shown(params.Scope), want))
	}
	return entries[0], nil
}

// recordOf is an evaluation as the history would have it.
func recordOf(ev *scaling.Evaluation) scaling.HistoryRecord {
	return scaling.HistoryRecord{
		Recommendation: complete(ev.Recommendation), Inputs: listed(ev.Inputs), SlotMode: ev.SlotMode, Mode: ev.Mode,
		Paused: ev.Paused, MinWorkers: ev.MinWorkers, MaxWorkers: ev.MaxWorkers, Booting: ev.Booting,
		TimedBounds: ev.TimedBounds, Provisional: ev.Provisional, Facts: &ev.Facts,
	}
}

func (s *server) explanation(r scaling.HistoryRecord, id *int64) Explanation {
	rec := &r.Recommendation
	x := Explanation{
		Scope: rec.Scope, Id: id, Recommendation: *rec, Inputs: r.Inputs,
		Rows: evaluator.Explain(evaluator.Decided{
			Row: rec.Row, Facts: r.Facts, Current: rec.CurrentWorkers, Booting: r.Booting, Min: r.MinWorkers, Max: r.MaxWorkers,
		}),
		MinWorkers: r.MinWorkers, MaxWorkers: r.MaxWorkers, TimedBounds: listed(r.TimedBounds), Booting: r.Booting,
		Mode: r.Mode, Paused: r.Paused, Provisional: r.Provisional, Notes: []string{},
	}
	note := func(holds bool, text string) {
		if holds {
			x.Notes = append(x.Notes, text)
		}
	}
	asked, server := s.queriesOf(rec.RuleSet), ""
	if s.PrometheusURL != nil {
		server = s.PrometheusURL()
	}
	x.Queries = queriesOf(&r, asked, server)
	note(r.Facts == nil, "The record does not hold the facts, so the rows above the one that matched cannot be explained.")
	note(s.Queries == nil, "The rule set is not at hand in this process, so its queries are not known.")
	note(s.Queries != nil && len(asked) == 0, "The rule set that decided is not loaded any more, so its queries are not known.")
	note(len(asked) > 0 && server == "", "There is no Prometheus to ask with curl: its database is inside the service.")
	note(r.Provisional, "Prometheus gave no answer: the decision was taken on unknown values.")
	differs := rec.Row != "" && slices.ContainsFunc(x.Rows, func(v scaling.RowVerdict) bool { return v.ID == rec.Row && v.Action != rec.Action })
	note(differs, "The row asks for more workers than the bounds or the step policy allow now: that is NO_ACTION.")
	return x
}

func (s *server) queriesOf(ref scaling.RuleSetRef) map[string]evaluator.Query {
	if s.Queries == nil {
		return nil
	}
	return s.Queries(ref)
}

// queriesOf lists what a decision was taken from: the inputs of the workers
// first, then the signals in the order of the rule set.
func queriesOf(r *scaling.HistoryRecord, asked map[string]evaluator.Query, server string) []ExplainedQuery {
	rank := make(map[string]int, len(r.Inputs))
	for i, in := range r.Inputs {
		rank[in.Name] = i + 1
	}
	snapshot := r.Recommendation.MetricsSnapshot
	names := slices.SortedFunc(maps.Keys(snapshot), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b))
	})
	out := make([]ExplainedQuery, len(names))
	for i, name := range names {
		m := snapshot[name]
		q := asked[name]
		out[i] = ExplainedQuery{Name: name, Value: m.Value, Unit: m.Unit, Reason: m.Reason, Promql: q.Expr}
		if q.Expr != "" && server != "" {
			out[i].Curl = curlLine(server, q, r.Recommendation.ObservedAt)
		}
	}
	return out
}

// curlLine is a command for a POSIX shell that asks Prometheus what was asked at
// a tick.
func curlLine(server string, q evaluator.Query, tick time.Time) string {
	target := strings.TrimSuffix(server, "/") + "/api/v1/query"
	if u, err := url.Parse(server); err == nil {
		u = u.JoinPath("api/v1/query")
		if u.User != nil {
			u.User = url.User(u.User.Username()) // curl asks for the password
		}
		target = u.String()
	}
	at := tick.Add(-q.Offset).UTC().Format(time.RFC3339Nano)
	return "curl -sG " + quoted(target) + " --data-urlencode " + quoted("query="+q.Expr) + " --data-urlencode " + quoted("time="+at)
}

// quoted makes a text one word of a POSIX shell, whatever is in it.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
