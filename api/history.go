package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// GetHistory serves one page of recorded decisions, newest first.
func (s *server) GetHistory(c echo.Context, params GetHistoryParams) error {
	return answer(c, storeTimeout, func(ctx context.Context) (HistoryPage, error) { return s.pageOfHistory(ctx, params) })
}

// pageOfHistory reads decisions, and what people have set between them.
func (s *server) pageOfHistory(ctx context.Context, params GetHistoryParams) (HistoryPage, error) {
	filter, err := historyFilter(params)
	if err != nil {
		return HistoryPage{}, err
	}
	entries, err := s.History.History(ctx, filter)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return HistoryPage{}, fail(http.StatusServiceUnavailable,
			fmt.Sprintf("the state store gave no answer within %s", storeTimeout), err)
	case err != nil:
		return HistoryPage{}, fail(http.StatusInternalServerError, "the history cannot be read; the log says why", err)
	}
	page := s.historyPage(entries, filter.Limit)
	if filter.Action == "" {
		var oldest int64
		if page.NextCursor != nil {
			oldest = entries[len(entries)-1].ID
		}
		if page.Changes, err = s.changes(ctx, filter, oldest); err != nil {
			return page, s.storeFailure(err)
		}
	}
	return page, nil
}

// changes are what somebody set in the time of a page of decisions: of the
// filter's scope and of the whole service, newer than an entry of the history.
func (s *server) changes(ctx context.Context, f state.Filter, oldest int64) ([]Change, error) {
	scope := f.Scope
	f.Scope, f.Kind, f.Limit = "", state.AuditEntry, state.MaxHistoryLimit
	entries, err := s.History.History(ctx, f)
	if err != nil {
		return nil, err
	}
	out := []Change{}
	for _, e := range entries {
		if e.ID <= oldest || scope != "" && e.Scope != scope && e.Scope != state.GlobalKey {
			continue
		}
		var r AuditRecord
		if err := json.Unmarshal(e.Value, &r); err != nil || r.What == "" {
			s.Logger.Warn("audit entry of the history cannot be read", "id", e.ID, "scope", e.Scope, "err", err)
			continue
		}
		out = append(out, changeOf(&e, &r))
	}
	return out, nil
}

func changeOf(e *state.Entry, r *AuditRecord) Change {
	c := Change{Id: e.ID, Scope: e.Scope, At: e.At.UTC(), What: r.What, Who: r.Who, Reason: r.After.Reason}
	switch r.What {
	case auditPause:
		c.Until = set(r.After.PausedUntil)
	case auditConfig:
		c.Reason, c.Until = whatChanged(&r.Before, &r.After), set(timedEnd(r))
		switch {
		case c.Reason == "":
			c.Reason = r.Reason
		case r.Reason != "":
			c.Reason += ": " + r.Reason
		}
	}
	return c
}

// whatChanged says which overrides a change of the configuration has set or
// taken away.
func whatChanged(before, after *state.ControlRecord) string {
	var out []string
	add := func(name, was, is string) {
		if was != is {
			out = append(out, fmt.Sprintf("%s: %s → %s", name, was, is))
		}
	}
	add("min_workers", bound(before.MinWorkers, before.MinTimed, after.UpdatedAt), bound(after.MinWorkers, after.MinTimed, after.UpdatedAt))
	add("max_workers", bound(before.MaxWorkers, before.MaxTimed, after.UpdatedAt), bound(after.MaxWorkers, after.MaxTimed, after.UpdatedAt))
	add("mode", override(before.Mode), override(after.Mode))
	return strings.Join(out, ", ")
}

// bound is what of a bound was set at t.
func bound(v *int, timed *scaling.TimedBound, t time.Time) string {
	if timed != nil && t.Before(timed.Until) {
		return fmt.Sprintf("%d until %s", timed.Workers, scaling.At(timed.Until))
	}
	return override(v)
}

// timedEnd is when a change ends by itself: the end of the bound that it has set
// until a time; zero if it has set none.
func timedEnd(r *AuditRecord) (end time.Time) {
	for _, b := range []*scaling.TimedBound{r.After.MinTimed, r.After.MaxTimed} {
		if b != nil && b.Since.Equal(r.After.UpdatedAt) {
			end = b.Until
		}
	}
	return end
}

func override[T any](v *T) string {
	if v == nil {
		return "as configured"
	}
	return fmt.Sprint(*v)
}

func historyFilter(params GetHistoryParams) (state.Filter, error) {
	f := state.Filter{
		Scope: params.Scope, Action: string(params.Action), Kind: state.DecisionEntry,
		Since: params.Since, Until: params.Until, Limit: params.Limit,
	}
	if f.Limit == 0 {
		f.Limit = defaultLimit
	}
	if params.Cursor != "" {
		var err error
		if f.Before, err = entryOf(params.Cursor); err != nil {
			return f, err
		}
	}
	return f, checkPeriod(f.Since, f.Until)
}

// historyPage decodes what the store holds. An entry that is no decision must
// not hide the others, so it is counted and left out.
func (s *server) historyPage(entries []state.Entry, limit int) HistoryPage {
	page := HistoryPage{Entries: make([]HistoryEntry, 0, len(entries)), Changes: []Change{}}
	for _, e := range entries {
		record, err := decodeRecord(e)
		if err != nil {
			s.Logger.Warn("history entry cannot be read", "id", e.ID, "scope", e.Scope, "err", err)
			page.Unreadable++
			continue
		}
		page.Entries = append(page.Entries, HistoryEntry{
			ID: e.ID, Scope: e.Scope, At: e.At.UTC(), HistoryRecord: record,
		})
	}
	if n := len(entries); n > 0 && n == limit {
		cursor := strconv.FormatInt(entries[n-1].ID, 10)
		page.NextCursor = &cursor
	}
	return page
}

func decodeRecord(e state.Entry) (scaling.HistoryRecord, error) {
	var r scaling.HistoryRecord
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return r, fmt.Errorf("decoding history entry: %w", err)
	}
	if r.Recommendation.RecommendationID == "" {
		return r, errors.New("history entry holds no recommendation")
	}
	r.Recommendation = complete(r.Recommendation)
	r.Inputs = listed(r.Inputs)
	return r, nil
}
