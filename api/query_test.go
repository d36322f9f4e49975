package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func problemOf(t *testing.T, body []byte) Problem {
	t.Helper()
	var p Problem
	require.NoError(t, json.Unmarshal(body, &p))
	require.Equal(t, "about:blank", p.Type)
	require.Equal(t, http.StatusText(p.Status), p.Title)
	return p
}

func TestBadParameters(t *testing.T) {
	h := newHandler(t, options(t))
	const history = "/autoscaler/history"
	for _, tt := range []struct {
		name, target string
		parameters   []string
		detail       string
	}{
		{"unknown", history + "?colour=red", []string{"colour"}, "expected one of action, cursor, limit, scope, since, until"},
		{"wrong case", history + "?Limit=5", []string{"Limit"}, "unknown parameter"},
		{"no year of UTC", history + "?until=9999-12-31T23:59:59-12:00", []string{"until"}, "years 0 to 9999"},
		{"bare", history + "?limit", []string{"limit"}, "is empty"},
		{"repeated", history + "?limit=1&limit=2", []string{"limit"}, "given 2 times"},
		{"several at once", history + "?limit=0&since=now&x=1", []string{"limit", "since", "x"}, "invalid query"},
		{"broken escape", history + "?scope=%zz", nil, "the query cannot be read"},
		{"semicolon", history + "?limit=1;since=2", nil, "the query cannot be read"},
		{"limit 0", history + "?limit=0", []string{"limit"}, "whole number from 1 to 1000"},
		{"limit too large", history + "?limit=1001", []string{"limit"}, `"1001" is not a whole number from 1 to 1000`},
		{"limit negative", history + "?limit=-1", []string{"limit"}, "whole number"},
		{"limit fraction", history + "?limit=1.5", []string{"limit"}, "whole number"},
		{"limit with sign", history + "?limit=%2B5", []string{"limit"}, "whole number"},
		{"limit overflow", history + "?limit=99999999999999999999", []string{"limit"}, "whole number"},
		{"since is a date", history + "?since=2026-03-14", []string{"since"}, "such as 2026-01-31T15:04:05Z"},
		{"since is Unix time", history + "?since=1770000000", []string{"since"}, "RFC 3339"},
		{"until without zone", history + "?until=2026-03-14T09:00:00", []string{"until"}, "RFC 3339"},
		{"plus became a space", history + "?since=2026-03-14T09:00:00+01:00", []string{"since"}, `"%2B"`},
		{"until before since", history + "?since=2026-03-14T09:00:00Z&until=2026-03-14T08:00:00Z", nil, "until 2026-03-14T08:00:00Z is before since"},
		{"action in lower case", history + "?action=scale_out", []string{"action"}, "SCALE_OUT, SCALE_IN_CANDIDATE"},
		{"cursor zero", history + "?cursor=0", []string{"cursor"}, "nextCursor"},
		{"cursor word", history + "?cursor=next", []string{"cursor"}, "nextCursor"},
		{"cursor padded", history + "?cursor=007", []string{"cursor"}, "nextCursor"},
		{"cursor overflow", history + "?cursor=9223372036854775808", []string{"cursor"}, "nextCursor"},
		{"scope missing", "/autoscaler/explain", []string{"scope"}, `"scope": is missing`},
		{"id zero", "/autoscaler/explain?scope=prod&id=0", []string{"id"}, "not the id of an entry of the history"},
		{"scope empty", "/autoscaler/status?scope=", []string{"scope"}, "is empty"},
		{"scope endless", "/autoscaler/status?scope=" + strings.Repeat("a", 8193), []string{"scope"}, "has 8193 bytes, expected at most 8192"},
		{"limit where there is none", "/autoscaler/metrics?limit=1", []string{"limit"}, "expected one of scope"},
		{"name endless", "/autoscaler/metrics?" + strings.Repeat("b", 5000) + "=1", []string{strings.Repeat("b", 200) + "…"}, "unknown parameter"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := call(h, http.MethodGet, tt.target)
			require.Equal(t, http.StatusBadRequest, rec.Code, rec.Body.String())
			p := problemOf(t, rec.Body.Bytes())
			require.Contains(t, p.Detail, tt.detail)
			var names []string
			for _, e := range p.Errors {
				names = append(names, e.Parameter)
				require.NotEmpty(t, e.Detail)
			}
			require.Equal(t, tt.parameters, names)
		})
	}
	p := problemOf(t, call(h, http.MethodPost, "/-/reload?now=1").Body.Bytes())
	require.Contains(t, p.Detail, "expected none")
}

// What checkQuery lets through, the generated code must be able to bind.
func TestGoodParameters(t *testing.T) {
	var got state.Filter
	o := options(t)
	o.History = historyFunc(func(f state.Filter) ([]state.Entry, error) {
		if f.Kind == state.DecisionEntry {
			got = f
		}
		return nil, nil
	})
	h := newHandler(t, o)
	at := time.Date(2026, 3, 14, 8, 0, 0, 123456000, time.UTC)
	for query, want := range map[string]state.Filter{
		"":                   {Limit: 100},
		"limit=1000":         {Limit: 1000},
		"scope=a%252Fb%2Fc":  {Limit: 100, Scope: "a%2Fb/c"},
		"scope=a+b":          {Limit: 100, Scope: "a%20b"},
		"scope=null":         {Limit: 100, Scope: "null"},
		"scope=a%2Cb%7Cc":    {Limit: 100, Scope: "a%2Cb%7Cc"},
		"action=NO_ACTION":   {Limit: 100, Action: "NO_ACTION"},
		"cursor=42":          {Limit: 100, Before: 42},
		"since=" + stamp(at): {Limit: 100, Since: at},
		"until=" + stamp(at): {Limit: 100, Until: at},
		"since=2026-03-14T09:00:00.123456%2B01:00&until=2026-03-14T08:00:00.123456Z": {Limit: 100, Since: at, Until: at},
	} {
		rec := call(h, http.MethodGet, "/autoscaler/history?"+query)
		require.Equal(t, http.StatusOK, rec.Code, "%s: %s", query, rec.Body)
		want.Kind = state.DecisionEntry
		require.True(t, want.Since.Equal(got.Since), query)
		require.True(t, want.Until.Equal(got.Until), query)
		got.Since, got.Until, want.Since, want.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		require.Equal(t, want, got, query)
		require.NoError(t, got.Validate())
	}
}

type historyFunc func(state.Filter) ([]state.Entry, error)

func (f historyFunc) History(_ context.Context, filter state.Filter) ([]state.Entry, error) {
	return f(filter)
}

func stamp(t time.Time) string { return url.QueryEscape(t.Format(time.RFC3339Nano)) }

// Any query either is refused with a problem or makes a filter that a store
// accepts; nothing in between, and never a 500.
func FuzzHistoryQuery(f *testing.F) {
	for _, q := range []string{
		"", "limit=5&cursor=3", "since=2026-03-14T09:00:00%2B01:00", "scope=%00", "action=NO_ACTION&x",
		"limit=1;", "scope=a&scope=b", "until=0001-01-01T00:00:00Z&since=9999-12-31T23:59:59Z",
	} {
		f.Add(q)
	}
	o := options(f)
	o.History = historyFunc(func(filter state.Filter) ([]state.Entry, error) { return nil, filter.Validate() })
	h := newHandler(f, o)
	f.Fuzz(func(t *testing.T, query string) {
		u := url.URL{Path: "/autoscaler/history", RawQuery: query}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host/autoscaler/history", http.NoBody)
		require.NoError(t, err)
		req.URL.RawQuery = u.RawQuery
		rec := serve(h, req)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, rec.Code, rec.Body.String())
		require.True(t, json.Valid(rec.Body.Bytes()))
	})
}

func TestHistoryPages(t *testing.T) {
	store := memory.New()
	for i := range 25 {
		ev := scaleOut(fmt.Sprintf("s%d", i%2))
		record(t, store, ev, tick.Add(seconds(i)))
		if i == 10 {
			keep(t, store, state.Entry{Scope: "s0", At: tick.Add(seconds(i)), Kind: state.DecisionEntry, Value: []byte(`{"note":"no decision"}`)})
			keep(t, store, state.Entry{Scope: "s0", At: tick.Add(seconds(i)), Kind: state.DecisionEntry, Value: []byte(`[1]`)})
		}
	}
	o := options(t)
	o.History = store
	var log strings.Builder
	o.Logger = textLogger(&log)
	h := newHandler(t, o)
	page := func(query string) HistoryPage {
		rec := call(h, http.MethodGet, "/autoscaler/history?"+query)
		require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
		var p HistoryPage
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p))
		return p
	}
	var ids []int64
	unreadable := 0
	query := "limit=10"
	for pages := 1; ; pages++ {
		p := page(query)
		unreadable += p.Unreadable
		for _, e := range p.Entries {
			ids = append(ids, e.ID)
			require.Equal(t, scaling.ScaleOut, e.Recommendation.Action)
			require.NotEmpty(t, e.Inputs)
		}
		if p.NextCursor == nil {
			require.Equal(t, 3, pages)
			break
		}
		query = "limit=10&cursor=" + *p.NextCursor
	}
	require.Len(t, ids, 25)
	require.IsDecreasing(t, ids)
	require.Equal(t, 2, unreadable)
	require.Equal(t, 2, strings.Count(log.String(), "history entry cannot be read"))
	require.Len(t, page("scope=s1&limit=1000").Entries, 12)
	require.Empty(t, page("scope=nobody").Entries)
	require.Len(t, page("since="+stamp(tick.Add(seconds(20)))+"&until="+stamp(tick.Add(seconds(22)))).Entries, 3)
}

// A label value may be long and not of ASCII: what the service lists can be
// looked up.
func TestLongKeysAreLookedUp(t *testing.T) {
	key := scaling.NewScope([]scaling.Label{{Name: "cluster", Value: strings.Repeat("é", 600)}}).Key
	require.Len(t, key, 3600)
	w := httptest.NewRecorder()
	target := "/autoscaler/status?scope=" + url.QueryEscape(key)
	newHandler(t, options(t)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	require.Equal(t, http.StatusNotFound, w.Code, "such a key may be, but is not here: %s", w.Body)
}
