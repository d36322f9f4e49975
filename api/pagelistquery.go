package api

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

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
