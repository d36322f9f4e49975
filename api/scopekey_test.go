package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// odd are scopes whose keys people do not write.
func odd(t *testing.T) (Options, scaling.Scope) {
	t.Helper()
	two := func(cluster, queue string) scaling.Scope {
		return scaling.NewScope([]scaling.Label{{Name: "cluster", Value: cluster}, {Name: "queue", Value: queue}})
	}
	scope := two("Köln & Bonn", "etl")
	o := options(t)
	var evaluations []scaling.Evaluation
	for _, s := range []scaling.Scope{scope, two("prod", "etl"), two("prod", "adhoc"), two("a/b", "c"), two("a", "b/c"), two("100%25", "x")} {
		evaluations = append(evaluations, scaleOut(s.Key, s.Labels...))
	}
	o.Board = &fakeBoard{evaluations: evaluations}
	return o, scope
}

// A scope is found by its key, by its values as people read them, both in any
// order, and by its labels.
func TestScopesAreNamedAsPeopleReadThem(t *testing.T) {
	o, scope := odd(t)
	h := newHandler(t, o)
	require.Equal(t, "K%C3%B6ln%20&%20Bonn/etl", scope.Key)
	for _, named := range []string{
		scope.Key, "Köln & Bonn/etl", "etl/Köln & Bonn", "etl/K%C3%B6ln%20&%20Bonn", "cluster=Köln & Bonn,queue=etl", "queue=etl,cluster=Köln & Bonn",
	} {
		for _, path := range []string{"/autoscaler/status", "/autoscaler/metrics", "/autoscaler/explain"} {
			rec := call(h, http.MethodGet, path+"?"+url.Values{"scope": {named}}.Encode())
			require.Equal(t, http.StatusOK, rec.Code, "%s: %s", named, rec.Body)
			require.Contains(t, rec.Body.String(), `"scope":"K%C3%B6ln%20\u0026%20Bonn/etl"`, "keys stay keys in JSON")
		}
		require.Contains(t, call(h, http.MethodGet, "/?"+url.Values{"scope": {named}}.Encode()).Body.String(), "Köln &amp; Bonn/etl")
	}
	for _, named := range []string{scope.Key, "Köln & Bonn/etl", "cluster=Köln & Bonn,queue=etl", "queue=etl,cluster=Köln & Bonn"} {
		rec := send(t, h, "POST", "/autoscaler/pause", `{"scope":"`+named+`","reason":"x"}`)
		require.Equal(t, http.StatusOK, rec.Code, "%s: %s", named, rec.Body)
	}
	controls, err := state.Controls(o.Store).List(t.Context())
	require.NoError(t, err)
	require.Len(t, controls, 1, "one scope was paused, under one key")
	require.Equal(t, scope.Key, controls[0].Key)
	for _, named := range []string{"100%2525/x", "100%25/x"} {
		rec := call(h, http.MethodGet, "/autoscaler/status?"+url.Values{"scope": {named}}.Encode())
		require.Contains(t, rec.Body.String(), `"scope":"100%2525/x"`, "a value may look encoded")
	}
}

// A change names its scope: what is only likely to be meant is asked for again.
func TestAChangeHitsNoScopeButTheOneThatIsNamed(t *testing.T) {
	o, _ := odd(t)
	board := o.Board.(*fakeBoard)
	comma := scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "Köln & Bonn,queue=adhoc"}})
	board.evaluations = append(board.evaluations, scaleOut(comma.Key, comma.Labels...))
	h := newHandler(t, o)
	for named, want := range map[string]string{
		"etl/prod":                          `there is no scope "etl/prod"; did you mean "prod/etl"?`,
		"etl/Köln & Bonn":                   `did you mean "Köln & Bonn/etl"?`,
		"a/b/c":                             `did you mean "a%2Fb/c" or "a/b%2Fc"?`,
		"100%25/x":                          `there is no scope "100%/x"`,
		"Köln %26 Bonn/etl":                 `may be "K%C3%B6ln%20%2526%20Bonn/etl" or "K%C3%B6ln%20&%20Bonn/etl"`,
		"cluster=prod":                      `there is no scope "cluster=prod"`,
		"cluster=Köln & Bonn":               `there is no scope`,
		"cluster=Köln & Bonn,queue=adhoc":   `there is no scope`,
		"cluster=prod,queue=etl,cluster=no": `there is no scope`,
	} {
		for path, body := range map[string]string{
			"/autoscaler/pause":  `{"scope":"` + named + `","reason":"x"}`,
			"/autoscaler/resume": `{"scope":"` + named + `"}`,
			"/autoscaler/config": `{"scopes":[{"scope":"` + named + `","minWorkers":3}]}`,
		} {
			method := "POST"
			if path == "/autoscaler/config" {
				method = "PUT"
			}
			rec := send(t, h, method, path, body, "If-Match", "*")
			require.GreaterOrEqual(t, rec.Code, 400, "%s %s: %s", path, named, rec.Body)
			require.Contains(t, problemOf(t, rec.Body.Bytes()).Detail, want, path)
		}
	}
	controls, err := state.Controls(o.Store).List(t.Context())
	require.NoError(t, err)
	require.Empty(t, controls)
}

// Whatever scopes are known, and whatever they are called: a change under a key is
// one of that scope, known or not, and one under a text that people read never of a
// scope that the text does not name.
func TestAChangeUnderAKeyIsOfThatScope(t *testing.T) {
	value := rapid.OneOf(
		rapid.SampledFrom([]string{"a", "b", "a/b", "a%2Fb", "%", "%25", "a=b", "cluster=a", "cluster=a,queue=b", "b,queue=a", "ö", "ö/a", "ö%2Fa", "default"}),
		rapid.StringMatching(`[ab/%25F,=ö ]{1,6}`),
	)
	scope := rapid.Custom(func(t *rapid.T) scaling.Scope {
		labels := []scaling.Label{{Name: "cluster", Value: value.Draw(t, "cluster")}}
		if rapid.Bool().Draw(t, "two") {
			labels = append(labels, scaling.Label{Name: "queue", Value: value.Draw(t, "queue")})
		}
		return scaling.NewScope(labels)
	})
	rapid.Check(t, func(t *rapid.T) {
		board := &fakeBoard{}
		for _, s := range rapid.SliceOfN(scope, 0, 5).Draw(t, "known") {
			board.evaluations = append(board.evaluations, scaling.Evaluation{Scope: s})
		}
		s := &server{Options: Options{Board: board}}
		named := scope.Draw(t, "named")
		key, err := s.changedKey(named.Key)
		require.NoError(t, err)
		require.Equal(t, named.Key, key)
		if _, known := board.Evaluation(named.Key); known {
			key, err = s.keyOf(named.Key)
			require.NoError(t, err)
			require.Equal(t, named.Key, key)
		}
		text := named.Shown()
		if key, err = s.changedKey(text); err == nil && key != named.Key {
			hit := scaling.Scope{Key: key}
			byLabels := slices.ContainsFunc(board.evaluations, func(ev scaling.Evaluation) bool { return ev.Scope.Key == key && hasLabels(&ev.Scope, text) })
			require.True(t, key == text || hit.Shown() == text || byLabels, "%q hits %q", text, key)
		}
	})
}

// The filters of the pages take what people read, and show it; what is past
// outlives its scope.
func TestFiltersTakeDecodedScopes(t *testing.T) {
	o, _ := odd(t)
	var asked []string
	o.History = historyFunc(func(f state.Filter) ([]state.Entry, error) {
		asked = append(asked, f.Scope)
		return nil, nil
	})
	h := newHandler(t, o)
	for path, want := range map[string]string{
		"/autoscaler/history?scope=K%C3%B6ln+%26+Bonn%2Fetl": "K%C3%B6ln%20&%20Bonn/etl",
		"/history?scope=etl%2Fprod":                          "prod/etl",
		"/actions?scope=prod%2Fetl":                          "prod/etl",
		"/autoscaler/actions?scope=was+here%2Fetl":           "was%20here/etl",
	} {
		asked = nil
		rec := call(h, http.MethodGet, path)
		require.Equal(t, http.StatusOK, rec.Code, "%s: %s", path, rec.Body)
		require.Contains(t, asked, want, path)
	}
	require.Contains(t, call(h, http.MethodGet, "/history?scope=K%C3%B6ln+%26+Bonn%2Fetl").Body.String(), `value="Köln &amp; Bonn/etl"`)
	for _, path := range []string{"/history?scope=prdo%2Fetl", "/actions?scope=prdo%2Fetl"} {
		rec := call(h, http.MethodGet, path)
		require.Equal(t, http.StatusNotFound, rec.Code)
		require.Contains(t, rec.Body.String(), "did you mean &#34;prod/etl&#34;", path)
	}
}

// refusal is why a scope is not shown.
func refusal(t *testing.T, h http.Handler, scope string) (p Problem) {
	t.Helper()
	rec := call(h, http.MethodGet, "/autoscaler/status?"+url.Values{"scope": {scope}}.Encode())
	require.NotEqual(t, http.StatusOK, rec.Code)
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p))
	return p
}

func TestUnknownScopesNameThoseThatAreNear(t *testing.T) {
	o, _ := odd(t)
	h := newHandler(t, o)
	for named, want := range map[string]string{
		"prdo/etl":               `there is no scope "prdo/etl"; did you mean "prod/etl"`,
		"prod":                   `there is no scope "prod"; did you mean "prod/etl" or "prod/adhoc"?`,
		"bonn":                   `did you mean "Köln & Bonn/etl"?`,
		"elsewhere-entirely":     `there is no scope "elsewhere-entirely"; there are 6 others`,
		"a/b/c":                  `scope "a/b/c" may be "a%2Fb/c" or "a/b%2Fc": write the one that is meant like this`,
		strings.Repeat("x", 900): `there is no scope "xxxx`,
	} {
		p := refusal(t, h, named)
		require.Contains(t, p.Detail, want)
		require.Less(t, len(p.Detail), 800)
	}
	o.Board = &fakeBoard{}
	require.Contains(t, refusal(t, newHandler(t, o), "a").Detail, "none is known yet")
	o.Board = &fakeBoard{follower: true}
	require.Contains(t, refusal(t, newHandler(t, o), "a").Detail, "does not lead")
}
