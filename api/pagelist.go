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
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// needFirst is the sort order by which the scopes come first that need a person.
const needFirst = "need"

// perPage is how many scopes the list shows at once.
const perPage = 100

// listQuery is what a reader asks of the list.
type listQuery struct {
	Search string
	Action scaling.Action
	// Need lists only the scopes that have it.
	Need Need
	// Sort is one of the sort orders, without "-".
	Sort       string
	Descending bool
	// Page counts from 1.
	Page int
	// Refresh is nil unless the request has one, which its links keep.
	Refresh *int
}

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

// sortOrders compare two evaluations; equal ones stay in the order of keys.
var sortOrders = map[string]func(a, b *scaling.Evaluation) int{
	"scope": func(a, b *scaling.Evaluation) int { return cmp.Compare(a.Scope.Key, b.Scope.Key) },
	"workers": func(a, b *scaling.Evaluation) int {
		return cmp.Compare(workers(a), workers(b))
	},
	"change": func(a, b *scaling.Evaluation) int { return cmp.Compare(change(a), change(b)) },
	"action": func(a, b *scaling.Evaluation) int {
		return cmp.Compare(slices.Index(scaling.Actions(), a.Recommendation.Action),
			slices.Index(scaling.Actions(), b.Recommendation.Action))
	},
	"evaluated": func(a, b *scaling.Evaluation) int {
		return a.Recommendation.ObservedAt.Compare(b.Recommendation.ObservedAt)
	},
}

// checkSort accepts the sort orders of the document.
func checkSort(v string) error {
	if _, ok := sortOrders[strings.TrimPrefix(v, "-")]; ok || strings.TrimPrefix(v, "-") == needFirst {
		return nil
	}
	return fmt.Errorf(`%q is not a sort order, expected need, scope, workers, change, action or evaluated, with "-" before it to turn it round`, handler.Shown(v))
}

// checkNeed accepts the needs of the document.
func checkNeed(v string) error {
	if slices.Contains(needsInOrder(), Need(v)) {
		return nil
	}
	return fmt.Errorf("%q is not a need, expected failed, stuck, unknown, at_max, paused or invalid", handler.Shown(v))
}

func checkSearch(v string) error {
	if len(v) > maxSearch {
		return fmt.Errorf("has %d bytes, expected at most %d", len(v), maxSearch)
	}
	return nil
}

// filledFields drops the empty search fields, which a browser sends along. What
// cannot be read is left for validate to refuse.
func filledFields(path, raw string) string {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return raw
	}
	names := []string{"q", "action", "need"}
	if path != "/" {
		names = []string{"scope", "action", "state", "until"}
	}
	for _, name := range names {
		if v := query[name]; len(v) == 1 && v[0] == "" {
			query.Del(name)
		}
	}
	return query.Encode()
}

func listQueryOf(params GetPageParams) listQuery {
	order := string(params.Sort)
	return listQuery{
		Search: strings.TrimSpace(params.Q), Action: params.Action, Need: Need(params.Need),
		Sort: cmp.Or(strings.TrimPrefix(order, "-"), needFirst), Descending: strings.HasPrefix(order, "-"),
		Page: max(1, params.Page), Refresh: params.Refresh,
	}
}

// url is the list with this query; what is as by default is left out.
func (q listQuery) url() string {
	v := url.Values{}
	add := func(name, value string, given bool) {
		if given {
			v.Set(name, value)
		}
	}
	add("q", q.Search, q.Search != "")
	add("action", string(q.Action), q.Action != "")
	add("need", string(q.Need), q.Need != "")
	add("sort", q.order(), q.order() != needFirst)
	add("page", strconv.Itoa(q.Page), q.Page > 1)
	if q.Refresh != nil {
		v.Set("refresh", strconv.Itoa(*q.Refresh))
	}
	if len(v) == 0 {
		return "./"
	}
	return "?" + v.Encode()
}

// order is the sort parameter.
func (q listQuery) order() string {
	if q.Descending {
		return "-" + q.Sort
	}
	return q.Sort
}

// orderView is one choice of the sort field.
type orderView struct {
	Value, Words string
	Selected     bool
}

// Orders are the choices of the sort field: where the list is shown as cards
// there are no column heads to click.
func (q listQuery) Orders() []orderView {
	out := []orderView{
		{Value: needFirst, Words: "who needs a person first"},
		{Value: "-" + needFirst, Words: "who needs a person last"},
		{Value: "scope", Words: "scope, from A"},
		{Value: "-scope", Words: "scope, from Z"},
		{Value: "-workers", Words: "workers, most first"},
		{Value: "workers", Words: "workers, fewest first"},
		{Value: "-change", Words: "change, most added first"},
		{Value: "change", Words: "change, most removed first"},
		{Value: "action", Words: "action, scale out first"},
		{Value: "-action", Words: "action, no action first"},
		{Value: "evaluated", Words: "evaluated, oldest first"},
		{Value: "-evaluated", Words: "evaluated, newest first"},
	}
	for i := range out {
		out[i].Selected = out[i].Value == q.order()
	}
	return out
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

// needs links each need that some scope has to the list of those, and the one
// that is selected back to all.
func (q listQuery) needs(n map[Need]int) []needView {
	var out []needView
	for _, need := range needsInOrder() {
		if n[need] == 0 && q.Need != need {
			continue
		}
		to := q
		to.Page, to.Need = 1, need
		if q.Need == need {
			to.Need = ""
		}
		out = append(out, needView{Need: need, Words: need.words(), Scopes: n[need], URL: to.url(), Selected: q.Need == need})
	}
	return out
}

// health adds those that the service depends on.
func (v *listView) health(h *Health) {
	v.Contacts = h.contactViews()
	v.Down = anyDown(v.Contacts)
	v.Configured = len(h.Clusters)
	if !h.NextTick.IsZero() {
		v.NextTick = instant(h.NextTick)
	}
}

func (q listQuery) at(page int) string {
	q.Page = page
	return q.url()
}

// counts links each action to the list of its scopes, and the one that is
// selected back to all.
func (q listQuery) counts(n map[scaling.Action]int) []countView {
	var out []countView
	for _, a := range scaling.Actions() {
		to := q
		to.Page, to.Action = 1, a
		if q.Action == a {
			to.Action = ""
		}
		out = append(out, countView{Action: a, Scopes: n[a], URL: to.url(), Selected: q.Action == a})
	}
	return out
}

func (q listQuery) columns() []columnView {
	var out []columnView
	for _, c := range []struct{ order, words string }{
		{"scope", "Scope"}, {"workers", "Workers"}, {"change", "Change"}, {"action", "Action"}, {"", "Why"}, {"evaluated", "Evaluated"},
	} {
		col := columnView{Words: c.words, Sorted: "none"}
		if c.order != "" {
			to := q
			to.Page, to.Sort, to.Descending = 1, c.order, q.Sort == c.order && !q.Descending
			col.URL = to.url()
		}
		if q.Sort == c.order {
			col.Sorted = "ascending"
			if q.Descending {
				col.Sorted = "descending"
			}
		}
		out = append(out, col)
	}
	return out
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
		Badges: badges(ev.Evaluation, st, now), ObservedAt: instant(r.ObservedAt), Age: span(age(ev.Evaluation, now)),
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
