package api

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

const (
	// maxKey caps a scope key, in bytes. Percent-encoding makes nine of three, and
	// several label values may be long; a request's header bears it encoded again.
	maxKey = 8192
	// maxSearch caps the words that the page's list is searched for, in bytes.
	maxSearch = 200
	maxPage   = 100000
	// defaultLimit and defaultRefresh are those of the document.
	defaultLimit   = 100
	defaultRefresh = 15
	maxRefresh     = 3600
)

// Route is one operation of the document.
type Route struct {
	Method, Path string
	// Changing calls need a credential, even where reads are open.
	Changing bool
	// query checks the parameters that the operation takes; nil takes any, for
	// the paths that scrapers and load balancers ask with theirs.
	query map[string]check
	// ofLeader says that only the leader knows what it is about.
	ofLeader bool
	// required is the one parameter that must be there; empty for none.
	required string
}

// check says what is wrong with a parameter's value.
type check func(value string) error

// Routes lists every operation, in the order of the document. HEAD is possible
// wherever GET is.
func Routes() []Route {
	scope := map[string]check{"scope": checkKey}
	return []Route{
		{Method: http.MethodGet, Path: "/", ofLeader: true, query: map[string]check{
			"scope": checkKey, "q": checkSearch, "action": among("an action", scaling.Actions()), "sort": checkSort, "need": among("a need", needsInOrder()), "at": checkTime, "id": checkID, "range": checkRange,
			"page": between(1, maxPage), "refresh": between(0, maxRefresh),
		}},
		{Method: http.MethodGet, Path: "/openapi.yaml"},
		{Method: http.MethodGet, Path: "/metrics"},
		{Method: http.MethodGet, Path: "/-/healthy"},
		{Method: http.MethodGet, Path: "/-/ready"},
		{Method: http.MethodPost, Path: "/-/reload", Changing: true, query: map[string]check{}},
		{Method: http.MethodGet, Path: "/autoscaler/status", ofLeader: true, query: scope},
		{Method: http.MethodGet, Path: "/autoscaler/history", query: map[string]check{
			"scope": checkKey, "since": checkTime, "until": checkTime, "action": among("an action", scaling.Actions()),
			"limit": between(1, state.MaxHistoryLimit), "cursor": checkCursor,
		}},
		{Method: http.MethodGet, Path: "/autoscaler/metrics", ofLeader: true, query: scope},
		{Method: http.MethodGet, Path: "/autoscaler/decision-table", ofLeader: true, query: scope},
		{Method: http.MethodGet, Path: "/autoscaler/actions", query: map[string]check{
			"scope": checkKey, "state": among("a state", scaling.ActionStates()), "since": checkTime, "until": checkTime,
			"limit": between(1, state.MaxHistoryLimit), "cursor": checkActionsCursor,
		}},
		{Method: http.MethodGet, Path: "/autoscaler/config", query: scope},
		{Method: http.MethodPut, Path: "/autoscaler/config", Changing: true, query: map[string]check{}},
		{Method: http.MethodPost, Path: "/autoscaler/pause", Changing: true, query: map[string]check{}},
		{Method: http.MethodPost, Path: "/autoscaler/resume", Changing: true, query: map[string]check{}},
		{Method: http.MethodGet, Path: "/autoscaler/drain", query: map[string]check{
			"scope": checkKey, "limit": between(1, state.MaxHistoryLimit),
		}},
		{Method: http.MethodPost, Path: "/autoscaler/drain", Changing: true, query: map[string]check{}},
		{Method: http.MethodPost, Path: "/autoscaler/drain/plan", Changing: true, query: map[string]check{}},
		{Method: http.MethodPost, Path: "/autoscaler/drain/cancel", Changing: true, query: map[string]check{}},
		{Method: http.MethodGet, Path: "/autoscaler/jobs", query: map[string]check{}},
		{Method: http.MethodPost, Path: "/autoscaler/jobs", Changing: true, query: map[string]check{}},
		{Method: http.MethodGet, Path: "/autoscaler/explain", ofLeader: true, query: map[string]check{
			"scope": checkKey, "id": checkID, "at": checkTime,
		}, required: "scope"},
		{Method: http.MethodPost, Path: "/autoscaler/backtest", Changing: true, query: map[string]check{}},
		{Method: http.MethodGet, Path: eventsPath, ofLeader: true, query: scope},
		{Method: http.MethodPost, Path: WebhookPath, Changing: true},
	}
}

// checkQuery refuses unknown, repeated and malformed query parameters, all of
// them at once, before the generated code binds them.
func checkQuery(routes []Route) echo.MiddlewareFunc {
	byRoute := make(map[[2]string]Route, len(routes))
	for _, r := range routes {
		if r.query != nil {
			byRoute[[2]string{r.Method, r.Path}] = r
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			method := c.Request().Method
			if method == http.MethodHead {
				method = http.MethodGet
			}
			route, ok := byRoute[[2]string{method, c.Path()}]
			if !ok {
				return next(c)
			}
			raw := c.Request().URL.RawQuery
			if isPage(c.Path()) {
				raw = filledFields(c.Path(), raw)
			}
			if err := validate(raw, &route); err != nil {
				return err
			}
			return next(c)
		}
	}
}

func validate(raw string, route *Route) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query cannot be read: "+handler.Shown(err.Error()))
	}
	var invalid []InvalidParameter
	for name, values := range query {
		if err := checkParameter(name, values, route.query); err != nil {
			invalid = append(invalid, InvalidParameter{Parameter: handler.Shown(name), Detail: err.Error()})
		}
	}
	if route.required != "" && !query.Has(route.required) {
		invalid = append(invalid, InvalidParameter{Parameter: route.required, Detail: "is missing"})
	}
	if len(invalid) == 0 {
		return nil
	}
	slices.SortFunc(invalid, func(a, b InvalidParameter) int { return cmp.Compare(a.Parameter, b.Parameter) })
	words := make([]string, len(invalid))
	for i, p := range invalid {
		words[i] = fmt.Sprintf("%q: %s", p.Parameter, p.Detail)
	}
	p := problem(http.StatusBadRequest, "invalid query: "+strings.Join(words, "; "))
	p.Errors = invalid
	return &failure{Problem: p}
}

func checkParameter(name string, values []string, checks map[string]check) error {
	c, known := checks[name]
	switch {
	case !known && len(checks) == 0:
		return errors.New("unknown parameter, expected none")
	case !known:
		return fmt.Errorf("unknown parameter, expected one of %s",
			strings.Join(slices.Sorted(maps.Keys(checks)), ", "))
	case len(values) > 1:
		return fmt.Errorf("given %d times, expected once", len(values))
	case values[0] == "":
		return errors.New("is empty")
	}
	return c(values[0])
}

func checkKey(v string) error {
	if len(v) > maxKey {
		return fmt.Errorf("has %d bytes, expected at most %d", len(v), maxKey)
	}
	return nil
}

func checkTime(v string) error {
	if t, err := time.Parse(time.RFC3339Nano, v); err == nil && writable(t) {
		return nil
	} else if err == nil {
		return fmt.Errorf("%q is not in the years 0 to 9999 of UTC", handler.Shown(v))
	}
	if strings.Contains(v, " ") {
		return fmt.Errorf(`%q is not an RFC 3339 time (a "+" in a query has to be written as "%%2B")`, handler.Shown(v))
	}
	return fmt.Errorf("%q is not an RFC 3339 time, such as 2026-01-31T15:04:05Z", handler.Shown(v))
}

// writable reports whether an instant can be written in UTC, as all of ours are:
// with an offset, one of the first or the last hours of four digits cannot.
func writable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 0 && year <= 9999
}

// among accepts the words of a list; kind is what each of them is.
func among[T ~string](kind string, words []T) check {
	return func(v string) error {
		if slices.Contains(words, T(v)) {
			return nil
		}
		return fmt.Errorf("%q is not %s, expected one of %s", handler.Shown(v), kind, strings.Join(scaling.Names(words), ", "))
	}
}

func checkCursor(v string) error {
	if !isID(v) {
		return fmt.Errorf("%q is not the nextCursor of a page", handler.Shown(v))
	}
	return nil
}

// entryOf is the entry of the history at which a cursor stands.
func entryOf(cursor string) (int64, error) {
	if err := checkCursor(cursor); err != nil {
		return 0, refuse(http.StatusBadRequest, "invalid query: "+err.Error())
	}
	return strconv.ParseInt(cursor, 10, 64)
}

// checkPeriod refuses one that ends before it begins.
func checkPeriod(since, until time.Time) error {
	if !since.IsZero() && !until.IsZero() && until.Before(since) {
		return refuse(http.StatusBadRequest, fmt.Sprintf("invalid query: until %s is before since %s",
			until.Format(time.RFC3339Nano), since.Format(time.RFC3339Nano)))
	}
	return nil
}

func checkID(v string) error {
	if !isID(v) {
		return fmt.Errorf("%q is not the id of an entry of the history", handler.Shown(v))
	}
	return nil
}

// isID reports whether this is how an ID of the store is written.
func isID(v string) bool {
	id, err := strconv.ParseInt(v, 10, 64)
	return err == nil && id > 0 && strconv.FormatInt(id, 10) == v
}

// between accepts whole numbers in a closed interval.
func between(least, most int) check {
	return func(v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most || strconv.Itoa(n) != v {
			return fmt.Errorf("%q is not a whole number from %d to %d", handler.Shown(v), least, most)
		}
		return nil
	}
}
