package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

const (
	// openCursor begins a cursor into the actions that are not over.
	openCursor = "open-"
	// maxScans is how many pages of history one request looks through for a
	// state that few actions have.
	maxScans = 20
)

// GetActions serves one page of actions: those that are not over first.
func (s *server) GetActions(c echo.Context, params GetActionsParams) error {
	return answer(c, storeTimeout, func(ctx context.Context) (ActionsPage, error) { return s.pageOfActions(ctx, params) })
}

func (s *server) pageOfActions(ctx context.Context, params GetActionsParams) (ActionsPage, error) {
	if s.Store == nil {
		return ActionsPage{}, refuse(http.StatusNotImplemented, "this process keeps no actions")
	}
	if err := checkPeriod(params.Since, params.Until); err != nil {
		return ActionsPage{}, err
	}
	p := actionsReader{server: s, params: params, limit: cmp.Or(params.Limit, defaultLimit), page: ActionsPage{Actions: []scaling.Execution{}}}
	err := p.read(ctx)
	return p.page, err
}

// actionsReader fills one page.
type actionsReader struct {
	*server
	params GetActionsParams
	limit  int
	page   ActionsPage
}

func (p *actionsReader) read(ctx context.Context) error {
	var before int64
	offset, inOpen := strings.CutPrefix(p.params.Cursor, openCursor)
	if p.params.Cursor == "" || inOpen {
		skip, err := strconv.Atoi(cmp.Or(offset, "0"))
		if err != nil {
			return refuse(http.StatusBadRequest, "invalid query: "+checkActionsCursor(p.params.Cursor).Error())
		}
		open, err := p.open(ctx)
		if err != nil {
			return p.storeFailure(err)
		}
		open = open[min(skip, len(open)):]
		p.page.Actions = append(p.page.Actions, open[:min(p.limit, len(open))]...)
		if len(p.page.Actions) == p.limit {
			p.next(openCursor + strconv.Itoa(skip+p.limit))
			return nil
		}
	} else {
		var err error
		if before, err = entryOf(p.params.Cursor); err != nil {
			return err
		}
	}
	if p.params.State != "" && !p.params.State.Final() {
		return nil // such an action is not over
	}
	if err := p.ended(ctx, before); err != nil {
		return p.storeFailure(err)
	}
	return nil
}

func (p *actionsReader) next(cursor string) { p.page.NextCursor = &cursor }

// open are the actions that wait or are under way, newest first.
func (p *actionsReader) open(ctx context.Context) ([]scaling.Execution, error) {
	rows, bad, err := p.executions.ListReadable(ctx)
	if err != nil {
		return nil, err
	}
	state.NoteUnreadable(p.badActions, bad)
	p.page.Unreadable += len(bad)
	var out []scaling.Execution
	for _, row := range rows {
		for _, x := range []*scaling.Execution{row.Value.Action, row.Value.Held} {
			if x != nil && !x.State.Final() && p.wanted(x, lastTransition(x)) {
				out = append(out, wholeExecution(*x))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b scaling.Execution) int {
		return cmp.Or(lastTransition(&b).Compare(lastTransition(&a)), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// ended adds the actions that are over, newest first.
func (p *actionsReader) ended(ctx context.Context, before int64) error {
	f := state.Filter{
		Scope: p.params.Scope, Kind: state.ActionEntry, Since: p.params.Since, Until: p.params.Until,
		Before: before, Limit: p.limit,
	}
	if p.params.State != "" {
		f.Limit = state.MaxHistoryLimit
	}
	for range maxScans {
		entries, err := p.History.History(ctx, f)
		if err != nil {
			return err
		}
		for _, e := range entries {
			f.Before = e.ID
			p.add(e)
			if len(p.page.Actions) == p.limit {
				p.next(strconv.FormatInt(e.ID, 10))
				return nil
			}
		}
		if len(entries) < f.Limit {
			return nil
		}
	}
	p.next(strconv.FormatInt(f.Before, 10))
	return nil
}

// add takes over one entry of the history, unless it ended while the page was
// made and is in it already.
func (p *actionsReader) add(e state.Entry) {
	var x scaling.Execution
	err := json.Unmarshal(e.Value, &x)
	if err == nil && (x.ID == "" || x.State == "") {
		err = errors.New("history entry holds no action")
	}
	switch {
	case err != nil:
		p.Logger.Warn("action cannot be read", "scope", e.Scope, "err", err)
		p.page.Unreadable++
	case !p.wanted(&x, e.At):
	case slices.ContainsFunc(p.page.Actions, func(o scaling.Execution) bool { return o.ID == x.ID }):
	default:
		p.page.Actions = append(p.page.Actions, wholeExecution(x))
	}
}

func (p *actionsReader) wanted(x *scaling.Execution, at time.Time) bool {
	q := &p.params
	return (q.Scope == "" || x.Scope == q.Scope) && (q.State == "" || x.State == q.State) &&
		(q.Since.IsZero() || !at.Before(q.Since)) && (q.Until.IsZero() || !at.After(q.Until))
}

func lastTransition(x *scaling.Execution) time.Time {
	if n := len(x.Transitions); n > 0 {
		return x.Transitions[n-1].At
	}
	return time.Time{}
}

// wholeExecution has empty lists instead of nil ones.
func wholeExecution(x scaling.Execution) scaling.Execution {
	x.Transitions = listed(x.Transitions)
	return x
}

func checkActionsCursor(v string) error { return checkCursor(strings.TrimPrefix(v, openCursor)) }
