package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// GetDrains serves the drains of workers: those that are not over first.
func (s *server) GetDrains(c echo.Context, params GetDrainsParams) error {
	if s.Store == nil {
		return errNoStore()
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	limit := cmp.Or(params.Limit, defaultLimit)
	page, err := s.drains(ctx, params.Scope, limit)
	if err != nil {
		return s.storeFailure(err)
	}
	page.Drains = page.Drains[:min(len(page.Drains), limit)]
	return c.JSON(http.StatusOK, page)
}

// drains reads the open drains of a scope, or of all, and at most so many that
// are over.
func (s *server) drains(ctx context.Context, scope string, limit int) (DrainsPage, error) {
	page := DrainsPage{Drains: []scaling.Drain{}}
	rows, bad, err := s.drainings.ListReadable(ctx)
	if err != nil {
		return page, err
	}
	state.NoteUnreadable(s.badDrains, bad)
	page.Unreadable = len(bad)
	for _, row := range rows {
		if open := row.Value.Open; open != nil && (scope == "" || row.Key == scope) {
			page.Drains = append(page.Drains, wholeDrain(*open))
		}
	}
	slices.SortFunc(page.Drains, func(a, b scaling.Drain) int {
		return cmp.Or(lastStep(&b).Compare(lastStep(&a)), cmp.Compare(a.ID, b.ID))
	})
	entries, err := s.History.History(ctx, state.Filter{Scope: scope, Kind: state.DrainEntry, Limit: limit})
	if err != nil {
		return page, err
	}
	for _, e := range entries {
		var d scaling.Drain
		err := json.Unmarshal(e.Value, &d)
		if err == nil && (d.ID == "" || d.State == "") {
			err = errors.New("history entry holds no drain")
		}
		switch {
		case err != nil:
			s.Logger.Warn("drain cannot be read", "scope", e.Scope, "err", err)
			page.Unreadable++
		case slices.ContainsFunc(page.Drains, func(o scaling.Drain) bool { return o.ID == d.ID && o.Scope == d.Scope }):
			// It ended while the page was made.
		default:
			page.Drains = append(page.Drains, wholeDrain(d))
		}
	}
	return page, nil
}

func lastStep(d *scaling.Drain) time.Time {
	if n := len(d.Transitions); n > 0 {
		return d.Transitions[n-1].At
	}
	return time.Time{}
}

func drainOf(d *scaling.Drain) *scaling.Drain {
	if d == nil {
		return nil
	}
	whole := wholeDrain(*d)
	return &whole
}

// wholeDrain has empty lists instead of nil ones.
func wholeDrain(d scaling.Drain) scaling.Drain {
	d.Transitions = listed(d.Transitions)
	return d
}
