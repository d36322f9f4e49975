package api

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// actionsPerPage is how many actions a page shows: each has several lines.
const actionsPerPage = 30

// choice is one value of a field that filters.
type choice struct {
	Value    string
	Selected bool
}

func choices[T ~string](all []T, selected string) []choice {
	out := make([]choice, len(all))
	for i, v := range all {
		out[i] = choice{string(v), string(v) == selected}
	}
	return out
}

// filterView is the head of a page about the past: what it is, and what of it is
// shown.
type filterView struct {
	// Page is its address and the name of its heading, Title what people read.
	Page, Title string
	Scope       string
	// Label and Field name the choice beside the scope.
	Label, Field string
	Choices      []choice
	// Ends is true where the newest time can be given, Until what was.
	Ends  bool
	Until string
	// Unreadable is how much of it was left out.
	Unreadable int
}

// pastView is the page of what was decided and set, newest first.
type pastView struct {
	Filter  filterView
	Entries []decisionView
	// Older leads to the next page, Newest back to the first; empty for none.
	Older, Newest string
}

func (s *server) historyPageView(ctx context.Context, query url.Values) (pageView, error) {
	params := GetHistoryParams{Scope: query.Get("scope"), Action: scaling.Action(query.Get("action")), Cursor: query.Get("cursor")}
	if until := query.Get("until"); until != "" {
		params.Until = parsedTime(until)
	}
	page, err := s.pageOfHistory(ctx, params)
	if err != nil {
		return pageView{}, err
	}
	if len(page.Entries)+len(page.Changes)+page.Unreadable == 0 && params.Scope != "" {
		if err := s.exists(ctx, params.Scope); err != nil {
			return pageView{}, err
		}
	}
	v := &pastView{Filter: filterView{
		Page: "history", Title: "History", Scope: scaling.ShownKey(params.Scope), Label: "Action", Field: "action", Choices: choices(scaling.Actions(), query.Get("action")),
		Ends: true, Until: query.Get("until"), Unreadable: page.Unreadable,
	}}
	for i := range page.Entries {
		v.Entries = append(v.Entries, decisionViewOf(&page.Entries[i]))
	}
	for i := range page.Changes {
		v.Entries = append(v.Entries, changeView(&page.Changes[i]))
	}
	slices.SortStableFunc(v.Entries, func(a, b decisionView) int { return strings.Compare(b.At, a.At) })
	v.Older, v.Newest = pageLinks("history", query, page.NextCursor)
	return pageView{History: v}, nil
}

// pageLinks lead to the next and to the first page of a list.
func pageLinks(page string, query url.Values, cursor *string) (older, newest string) {
	with := func(cursor string) string {
		pairs := []string{"cursor", cursor}
		for name := range query {
			if name != "cursor" {
				pairs = append(pairs, name, query.Get(name))
			}
		}
		return linkTo(page, pairs...)
	}
	if cursor != nil {
		older = with(*cursor)
	}
	if query.Get("cursor") != "" {
		newest = with("")
	}
	return older, newest
}

// actionsPage is the page of actions: those that are not over first.
type actionsPage struct {
	Filter        filterView
	Actions       []actionView
	Older, Newest string
}

func (s *server) actionsPageView(ctx context.Context, query url.Values) (pageView, error) {
	params := GetActionsParams{
		Scope: query.Get("scope"), State: scaling.ActionState(query.Get("state")), Cursor: query.Get("cursor"), Limit: actionsPerPage,
	}
	page, err := s.pageOfActions(ctx, params)
	if err != nil {
		return pageView{}, err
	}
	if len(page.Actions)+page.Unreadable == 0 && params.Scope != "" {
		if err := s.exists(ctx, params.Scope); err != nil {
			return pageView{}, err
		}
	}
	v := &actionsPage{Filter: filterView{
		Page: "actions", Title: "Actions", Scope: scaling.ShownKey(params.Scope), Label: "State", Field: "state", Choices: choices(scaling.ActionStates(), query.Get("state")),
		Unreadable: page.Unreadable,
	}}
	for i := range page.Actions {
		x := &page.Actions[i]
		action := actionViewOf(x)
		action.Scope, action.ScopeURL = scaling.ShownKey(x.Scope), scopeURL(x.Scope)
		v.Actions = append(v.Actions, action)
	}
	v.Older, v.Newest = pageLinks("actions", query, page.NextCursor)
	return pageView{Actions: v}, nil
}
