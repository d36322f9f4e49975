package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// GetHistory serves one page of recorded decisions, newest first.
func (s *server) GetHistory(c echo.Context, params GetHistoryParams) error {
	filter, err := historyFilter(params)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	entries, err := s.History.History(ctx, filter)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fail(http.StatusServiceUnavailable,
			fmt.Sprintf("the state store gave no answer within %s", storeTimeout), err)
	case err != nil:
		return fail(http.StatusInternalServerError, "the history cannot be read; the log says why", err)
	}
	return c.JSON(http.StatusOK, s.historyPage(entries, filter.Limit))
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
		id, err := strconv.ParseInt(params.Cursor, 10, 64)
		if err != nil {
			return f, refuse(http.StatusBadRequest, "invalid query: "+checkCursor(params.Cursor).Error())
		}
		f.Before = id
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && f.Until.Before(f.Since) {
		return f, refuse(http.StatusBadRequest, fmt.Sprintf("invalid query: until %s is before since %s",
			f.Until.Format(time.RFC3339Nano), f.Since.Format(time.RFC3339Nano)))
	}
	return f, nil
}

// historyPage decodes what the store holds. An entry that is no decision must
// not hide the others, so it is counted and left out.
func (s *server) historyPage(entries []state.Entry, limit int) HistoryPage {
	page := HistoryPage{Entries: make([]HistoryEntry, 0, len(entries))}
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
