package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const docsFile = "../docs/api.md"

// example is a command of the docs with the excerpt that follows it.
type example struct {
	command, method, target string
	body, language, excerpt string
}

func examples(t *testing.T) (found []example, prose string) {
	t.Helper()
	raw, err := os.ReadFile(docsFile)
	require.NoError(t, err)
	pattern := regexp.MustCompile("(?s)```console\n\\$ (curl [^\n]+)\n```\n\n```(json|text)\n(.*?)```")
	address := regexp.MustCompile(`'http://127\.0\.0\.1:9880([^']*)'`)
	method := regexp.MustCompile(`-X (POST|PUT)`)
	body := regexp.MustCompile(`--json '([^']*)'`)
	encoded := regexp.MustCompile(`-G --data-urlencode '(\w+)=([^']*)'`)
	for _, m := range pattern.FindAllStringSubmatch(string(raw), -1) {
		e := example{command: m[1], method: http.MethodGet, language: m[2], excerpt: m[3]}
		if m := method.FindStringSubmatch(e.command); m != nil {
			e.method = m[1]
		}
		if b := body.FindStringSubmatch(e.command); b != nil {
			e.body = b[1]
		}
		a := address.FindStringSubmatch(e.command)
		require.Len(t, a, 2, e.command)
		e.target = a[1]
		if q := encoded.FindStringSubmatch(e.command); q != nil {
			e.target += "?" + url.Values{q[1]: {q[2]}}.Encode()
		}
		found = append(found, e)
	}
	require.Len(t, found, strings.Count(string(raw), "```console"), "a command has no excerpt")
	return found, string(raw)
}

func TestDocsShowEveryPath(t *testing.T) {
	found, prose := examples(t)
	for _, r := range Routes() {
		require.Contains(t, prose, "`"+r.Path+"`")
		shown := false
		for _, e := range found {
			path, _, _ := strings.Cut(e.target, "?")
			shown = shown || path == r.Path && e.method == r.Method
		}
		require.True(t, shown, "%s %s has no example", r.Method, r.Path)
		for name := range r.query {
			require.Regexp(t, "`"+name+"`|`\\?"+name+"=", prose)
		}
	}
}

func TestDocsExcerptsAreReal(t *testing.T) {
	found, _ := examples(t)
	for _, e := range found {
		t.Run(e.command, func(t *testing.T) {
			o := options(t)
			o.Stopping = closed()
			body := send(t, newHandler(t, o), e.method, e.target, e.body, "If-Match", "*").Body.String()
			if e.language == "text" {
				require.Contains(t, body, e.excerpt)
				return
			}
			var want, got any
			require.NoError(t, json.Unmarshal([]byte(e.excerpt), &want))
			require.NoError(t, json.Unmarshal([]byte(body), &got))
			require.Empty(t, missing("$", want, got))
		})
	}
}

// missing says where got lacks something of want: an excerpt may leave out
// fields of an object and the end of a list, but must not differ.
func missing(at string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		for name, value := range w {
			other, ok := g[name]
			if !ok {
				return at + "." + name + " is not in the reply"
			}
			if lack := missing(at+"."+name, value, other); lack != "" {
				return lack
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) < len(w) {
			return at + " is shorter in the reply"
		}
		for i := range w {
			if lack := missing(fmt.Sprintf("%s[%d]", at, i), w[i], g[i]); lack != "" {
				return lack
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v in the docs and %v in the reply", at, want, got)
	}
	return ""
}
