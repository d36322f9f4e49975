package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/chart"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// Past decides again what was decided, or would have been, from what Prometheus
// still has.
type Past interface {
	// At is the decision on a scope at the newest tick not after an instant. An
	// error that wraps ErrBusy says that it has to be asked for later.
	At(ctx context.Context, scope string, at time.Time) (scaling.Evaluation, error)
	// Backtest replays a scope's rule set over a period. A report comes even with
	// an error that wraps backtest.ErrStopped.
	Backtest(ctx context.Context, scope string, start, end time.Time, against *rules.RuleSet) (*backtest.Report, error)
	// Signals are the values of a scope's signals at the columns of an axis, without
	// those that nothing is known of.
	Signals(ctx context.Context, scope scaling.Scope, axis chart.Axis) (map[string]*chart.Band, error)
	// RuleSets are those that can be compared with that of a scope.
	RuleSets(scope string) []*rules.RuleSet
}

// ErrBusy says that somebody else's question about the past is being answered.
var ErrBusy = errors.New("another question about the past is being answered, ask again in a minute")

const (
	// pastPatience bounds a decision about the past, backtestPatience a backtest.
	pastPatience     = 10 * time.Second
	backtestPatience = 30 * time.Second
	// defaultPeriod and maxPeriod are how much of the past a backtest covers.
	defaultPeriod = 24 * time.Hour
	maxPeriod     = 7 * 24 * time.Hour
	maxRulesBytes = 256 << 10
)

// PostBacktest serves what rules would have decided over a past period.
func (s *server) PostBacktest(c echo.Context) error {
	var req BacktestRequest
	if err := decodeBody(c, &req, false); err != nil {
		return err
	}
	if s.Past == nil {
		return refuse(http.StatusNotImplemented, "this process has no past to ask")
	}
	if req.Scope == "" {
		return refuse(http.StatusBadRequest, `invalid body: "scope" is missing`)
	}
	var err error
	if req.Scope, err = s.keyOf(req.Scope); err != nil {
		return err
	}
	if _, ok := s.Board.Evaluation(req.Scope); !ok {
		if s.Board.Leader() || s.Store == nil {
			return s.noScope(req.Scope)
		}
		if err := s.exists(c.Request().Context(), req.Scope); err != nil {
			return err
		}
	}
	start, end, err := s.period(&req)
	if err != nil {
		return err
	}
	against, err := s.against(&req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), backtestPatience)
	defer cancel()
	report, err := s.Past.Backtest(ctx, req.Scope, start, end, against)
	switch {
	case report != nil && (err == nil || errors.Is(err, backtest.ErrStopped)):
		return s.writeReport(c, report)
	case errors.Is(err, ErrBusy):
		return refuse(http.StatusServiceUnavailable, err.Error())
	default:
		return refuse(http.StatusBadRequest, "this cannot be replayed: "+err.Error())
	}
}

// period is what a request asks for, checked.
func (s *server) period(req *BacktestRequest) (start, end time.Time, err error) {
	end = s.Now()
	if req.End.Value != nil {
		end = *req.End.Value
	}
	start = end.Add(-defaultPeriod)
	if req.Start.Value != nil {
		start = *req.Start.Value
	}
	switch {
	case !start.Before(end):
		return start, end, refuse(http.StatusBadRequest, `invalid body: "end" is not after "start"`)
	case !start.Before(s.Now()):
		return start, end, refuse(http.StatusBadRequest, `invalid body: "start" is not in the past`)
	case end.Sub(start) > maxPeriod:
		return start, end, refuse(http.StatusBadRequest, "invalid body: the period is longer than 7 days; the command zeta-scaler backtest takes any")
	}
	return start, end, nil
}

// against is the rule set to compare with, nil for none.
func (s *server) against(req *BacktestRequest) (*rules.RuleSet, error) {
	name, text := req.Against.Value, req.Rules.Value
	switch {
	case name != nil && text != nil:
		return nil, refuse(http.StatusBadRequest, `invalid body: give "against" or "rules", not both`)
	case text != nil && len(*text) > maxRulesBytes:
		return nil, refuse(http.StatusBadRequest, `invalid body: "rules" has more than 256 KiB`)
	case text != nil:
		rs, err := rules.Parse("rules", []byte(*text))
		if err != nil {
			return nil, refuse(http.StatusBadRequest, `invalid body: "rules" is no rule set: `+err.Error())
		}
		return rs, nil
	case name == nil:
		return nil, nil //nolint:nilnil // none was asked for
	}
	var known []string
	for _, rs := range s.Past.RuleSets(req.Scope) {
		if rs.Name == *name {
			return rs, nil
		}
		known = append(known, rs.Name)
	}
	return nil, refuse(http.StatusBadRequest, fmt.Sprintf("invalid body: no rule set %q can be compared with that of the scope, there is [%s]",
		handler.Shown(*name), strings.Join(known, " ")))
}

// writeReport writes JSON, or for a page a part of it.
func (s *server) writeReport(c echo.Context, report *backtest.Report) error {
	if !strings.HasPrefix(c.Request().Header.Get(echo.HeaderAccept), echo.MIMETextHTML) {
		for _, scope := range report.Scopes {
			scope.Plot = nil
		}
		return c.JSON(http.StatusOK, report)
	}
	view := reportView{Report: report}
	for _, scope := range report.Scopes {
		view.Pictures = append(view.Pictures, report.Pictures(scope, func(at time.Time) string {
			return "?" + url.Values{"scope": {scope.Scope.Key}, "at": {at.UTC().Format(time.RFC3339)}, "refresh": {"0"}}.Encode()
		})...)
	}
	var b bytes.Buffer
	if err := s.page.template.ExecuteTemplate(&b, "backtest.html", view); err != nil {
		return fmt.Errorf("rendering a backtest: %w", err)
	}
	return c.HTMLBlob(http.StatusOK, b.Bytes())
}

// reportView is a backtest of one scope on the page.
type reportView struct {
	*backtest.Report
	Pictures []chart.Picture
}

// decidedAt explains a past instant: what Prometheus still knows, else the record
// that held then.
func (s *server) decidedAt(ctx context.Context, params GetExplainParams) (Explanation, error) {
	record, recordErr := s.recorded(ctx, params)
	if s.Past == nil || params.At.After(s.Now()) {
		return s.ofRecord(record, recordErr)
	}
	ev, err := s.pastAt(ctx, params.Scope, params.At)
	if recordErr == nil && (err != nil || record.At.Equal(ev.Tick)) {
		x, xerr := s.ofRecord(record, nil)
		if err != nil {
			x.Notes = append(x.Notes, "This is the recorded decision that held then. It cannot be computed for that very time: "+err.Error()+".")
		}
		return x, xerr
	}
	if err != nil {
		return Explanation{}, pastFailure(err, recordErr)
	}
	x := s.explanation(recordOf(&ev), nil)
	x.Notes = append([]string{computedAgain(&ev)}, x.Notes...)
	if recordErr != nil {
		return x, nil //nolint:nilerr // what was recorded only adds to it
	}
	if r, err := decodeRecord(record); err == nil && r.Recommendation.Row != ev.Recommendation.Row {
		x.Notes = append(x.Notes, fmt.Sprintf("What was said then, since %s, is by row %s: %s", scaling.At(r.Recommendation.ObservedAt), r.Recommendation.Row, r.Recommendation.Reason))
	}
	return x, nil
}

// computedAgain says what such a decision is.
func computedAgain(ev *scaling.Evaluation) string {
	r := ev.Recommendation.RuleSet
	return fmt.Sprintf("Computed again from what Prometheus has of %s now, with the rules that are loaded now (%s %s) and the limits of that time, without actions.",
		scaling.At(ev.Tick), r.Name, r.Version)
}

func (s *server) pastAt(ctx context.Context, scope string, at time.Time) (scaling.Evaluation, error) {
	ctx, cancel := context.WithTimeout(ctx, pastPatience)
	defer cancel()
	ev, err := s.Past.At(ctx, scope, at)
	ev.Recommendation = complete(ev.Recommendation)
	// Nobody ever published it: there is no recommendation with such an id.
	ev.Recommendation.RecommendationID, ev.Recommendation.MasterEpoch, ev.Recommendation.Generation = "", 0, 0
	return ev, err
}

// pastFailure is what the caller is told when neither Prometheus nor the history
// knows anything of a time.
func pastFailure(err, recordErr error) error {
	switch {
	case errors.Is(err, ErrBusy):
		return refuse(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, backtest.ErrNoSample):
		return refuse(http.StatusNotFound, err.Error()+", and there is no recorded decision of that time")
	case asFailure(recordErr, nil).Status != http.StatusNotFound:
		return recordErr
	}
	return refuse(http.StatusServiceUnavailable, "the decision cannot be computed: "+err.Error())
}
