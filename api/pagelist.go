package api

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// needFirst is the sort order by which the scopes come first that need a person.
const needFirst = "need"

// perPage is how many scopes the list shows at once.
const perPage = 100

// listView is the list of scopes.
type listView struct {
	listQuery
	// Total is how many scopes there are, Found how many the query lets through.
	Total, Found   int
	First, Last    int
	Pages          int
	Counts         []countView
	Needs          []needView
	Columns        []columnView
	Scopes         []entryView
	Previous, Next string
	// Stale is how many of all scopes are out of date.
	Stale int
	// Control is that of the whole service.
	Control controlView
	// Contacts are those that the service depends on; Down says that one of them
	// gives no answer.
	Contacts []contactView
	Down     bool
	// NextTick is when the next evaluation is due, empty for never.
	NextTick string
	// Leads is false where another replica decides, LeaderName is which, empty if
	// nobody knows. Early is before the first evaluation.
	Leads      bool
	LeaderName string
	Early      bool
	// Configured is how many clusters the configuration names.
	Configured int
}

// countView says how many scopes have an action; URL lists only those.
type countView struct {
	Action   scaling.Action
	Scopes   int
	URL      string
	Selected bool
}

// needView says how many scopes need a person for that.
type needView struct {
	Need     Need
	Words    string
	Scopes   int
	URL      string
	Selected bool
}

// columnView is one column with the link that sorts by it.
type columnView struct {
	Words, URL string
	// Sorted is "ascending", "descending" or "none", as aria-sort says it.
	Sorted string
}

// entryView is one scope in the list.
type entryView struct {
	// Name is the key as people read it.
	Name, Key, URL       string
	Current, Recommended string
	Change               string
	Action               scaling.Action
	Row, Reason          string
	Badges               []badge
	ObservedAt, Age      string
	// Needs are true for a scope that needs a person.
	Needs bool
	// Failures are what has failed.
	Failures []*failureView
	// FirstInQueue is the job that waits first, nil where none does or nobody knows.
	FirstInQueue *scaling.QueueHead
}

// listed evaluations carry what sorting and filtering ask for again and again.
type listedScope struct {
	*scaling.Evaluation
	needs []Need
}

// listViewOf selects, sorts and cuts. The evaluations are in the order of their
// keys and are not changed.
func listViewOf(evaluations []scaling.Evaluation, q listQuery, st *standing, now time.Time) listView {
	view := listView{Total: len(evaluations)}
	n, needs := map[scaling.Action]int{}, map[Need]int{}
	var found []listedScope
	for i := range evaluations {
		ev := listedScope{&evaluations[i], needsOf(&evaluations[i], st, now)}
		n[ev.Recommendation.Action]++
		for _, need := range ev.needs {
			needs[need]++
		}
		if !fresh(ev.Evaluation, now) {
			view.Stale++
		}
		if (q.Need == "" || slices.Contains(ev.needs, q.Need)) && matches(ev.Evaluation, q, foundBy(ev.Evaluation, st, now)...) {
			found = append(found, ev)
		}
	}
	sortScopes(found, q)
	view.Found, view.Pages = len(found), max(1, (len(found)+perPage-1)/perPage)
	q.Page = min(q.Page, view.Pages)
	view.listQuery = q
	from := (q.Page - 1) * perPage
	found = found[from:min(from+perPage, len(found))]
	for _, ev := range found {
		view.Scopes = append(view.Scopes, entryViewOf(ev, st, q.Refresh, now))
	}
	view.First, view.Last = from+1, from+len(found)
	view.Counts, view.Needs, view.Columns = q.counts(n), q.needs(needs), q.columns()
	if q.Page > 1 {
		view.Previous = q.at(q.Page - 1)
	}
	if q.Page < view.Pages {
		view.Next = q.at(q.Page + 1)
	}
	return view
}

// sortScopes sorts by the query; equal ones stay in the order of their keys.
func sortScopes(found []listedScope, q listQuery) {
	compare := func(a, b listedScope) int { return cmp.Compare(rank(a.needs), rank(b.needs)) }
	if order, ok := sortOrders[q.Sort]; ok {
		compare = func(a, b listedScope) int { return order(a.Evaluation, b.Evaluation) }
	}
	slices.SortStableFunc(found, func(a, b listedScope) int {
		if q.Descending {
			return compare(b, a)
		}
		return compare(a, b)
	})
}

// health adds those that the service depends on.
func (v *listView) health(h *Health) {
	v.Contacts = h.contactViews()
	v.Down = anyDown(v.Contacts)
	v.Configured = len(h.Clusters)
	if !h.NextTick.IsZero() {
		v.NextTick = scaling.At(h.NextTick)
	}
}

// matches reports whether a scope has every word that is searched for, in any
// case, and the action.
func matches(ev *scaling.Evaluation, q listQuery, more ...string) bool {
	r := &ev.Recommendation
	if q.Action != "" && r.Action != q.Action {
		return false
	}
	if q.Search == "" {
		return true
	}
	text := []string{ev.Scope.Key, string(r.Row), r.Reason, string(ev.Mode)}
	for _, l := range ev.Scope.Labels {
		text = append(text, l.Name+"="+l.Value)
	}
	text = append(text, more...)
	haystack := strings.ToLower(strings.Join(text, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(q.Search)) {
		if !strings.Contains(haystack, word) {
			return false
		}
	}
	return true
}

func entryViewOf(ev listedScope, st *standing, refresh *int, now time.Time) entryView {
	r := &ev.Recommendation
	to := url.Values{"scope": {ev.Scope.Key}}
	if refresh != nil {
		to.Set("refresh", strconv.Itoa(*refresh))
	}
	view := entryView{
		Name: ev.Scope.Shown(), Key: ev.Scope.Key, URL: "?" + to.Encode(),
		Current: count(r.CurrentWorkers), Recommended: count(r.RecommendedWorkers), Change: changeWords(ev.Evaluation),
		Action: r.Action, Row: string(r.Row), Reason: r.Reason,
		Badges: badges(ev.Evaluation, st, now), ObservedAt: scaling.At(r.ObservedAt), Age: span(age(ev.Evaluation, now)),
		Needs: len(ev.needs) > 0, FirstInQueue: firstInQueue(ev.Evaluation, now),
	}
	view.Failures = failuresOf(ev.Evaluation, st, now)
	if b, ok := drainBadge(st.drain(ev.Evaluation)); ok {
		view.Badges = append([]badge{b}, view.Badges...)
	}
	return view
}

// workers is -1 when unknown, so that such scopes come first.
func workers(ev *scaling.Evaluation) int {
	if n := ev.Recommendation.CurrentWorkers; n != nil {
		return *n
	}
	return -1
}

// change is how many workers more are recommended. An unknown change comes
// before every known one.
func change(ev *scaling.Evaluation) int {
	r := &ev.Recommendation
	if r.CurrentWorkers == nil || r.RecommendedWorkers == nil {
		return math.MinInt
	}
	return *r.RecommendedWorkers - *r.CurrentWorkers
}

func changeWords(ev *scaling.Evaluation) string {
	switch n := change(ev); {
	case n == math.MinInt:
		return "unknown"
	case n == 0:
		return "0"
	case n > 0:
		return fmt.Sprintf("+%d", n)
	default:
		return fmt.Sprintf("−%d", -n)
	}
}
