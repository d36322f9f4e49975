package rules

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// entry is one key of a mapping of the tree that the law below writes out.
type entry struct {
	key   string
	value any // string, number, []any or []entry; promQL for an expression
	// byDefault marks what may be left out without a change of meaning.
	byDefault bool
}

type (
	promQL []string // an expression in tokens
	number string   // a number, duration or word as YAML has it, in one spelling
	spelt  []string // the same in several spellings
)

// tree is a rule set in which every default is spelled out.
func tree() []entry {
	d := func(key string, value any) entry { return entry{key, value, true} }
	e := func(key string, value any) entry { return entry{key, value, false} }
	return []entry{
		e("format", "zeta-scaler/v1"), e("ruleset", "law"), e("version", "1.0.0"), d("description", ""),
		d("interval", spelt{"30s", "0m30s", "30000ms"}), d("query_offset", spelt{"0s", "0"}), d("scope_by", []any{}),
		d("slot_mode", "fixed"), d("min_coverage", spelt{"0.5", ".5", "5e-1"}), d("gap_tolerance", spelt{"1", "0x1"}),
		e("workers", []entry{
			e("current", []entry{e("expr", promQL{"max", "(", "w", "{", "a", "=", `"b"`, "}", ")"})}),
			e("reporting", []entry{e("expr", promQL{"count", "(", "age", "<", "120", ")", "or", "vector", "(", "0", ")"})}),
		}),
		d("bounds", []entry{d("min_workers", number("1")), d("floor_delay", number("0s"))}),
		d("step", []entry{
			d("policy", "fixed"), d("workers", number("1")), d("rounds", number("false")), d("unit", number("1")), d("max_step", number("4")),
			d("sustained_backlog", number("30s")), d("scheduler_backlog", spelt{"1m", "60s"}), d("boot_deadline", number("3m")),
		}),
		e("signals", []any{
			[]entry{
				e("signal", "waiting"), e("class", "blocking"), e("expr", promQL{"sum", "(", "rate", "(", "x", "[", "5m", "]", ")", ")"}),
				d("required", number("true")), d("demand", number("false")), d("surplus", number("false")), d("absent", "unknown"), d("keep_firing_for", number("0s")),
				e("scale_out", []entry{e("above", spelt{"1", "1.0"}), d("for", spelt{"5m", "300s"})}),
				e("scale_in", []entry{e("at_most", spelt{"0", "-0.0"}), d("for", spelt{"10m", "600s"})}),
			},
			[]entry{
				e("signal", "cpu"), e("class", "saturation"), e("unit", "ratio"), e("expr", promQL{"avg", "(", "c", ")"}), d("range", []any{number("0"), number("1")}),
				e("scale_out", []entry{d("above", spelt{"0.8", "0.80"}), d("for", number("5m"))}),
				e("scale_in", []entry{d("below", number("0.3")), d("for", number("10m"))}),
			},
			[]entry{
				e("signal", "big"), e("class", "guard"), e("expr", promQL{"max", "(", "h", ")"}), d("required", number("false")),
				e("scale_out", []entry{e("above", "max_workers"), d("for", number("5m"))}), d("holds", []any{"waiting"}),
			},
		}),
	}
}

// writer writes a tree as YAML in one of very many ways.
type writer struct {
	t *rapid.T
	b strings.Builder
}

func (w *writer) flip(what string) bool { return rapid.Bool().Draw(w.t, what) }

func (w *writer) mapping(es []entry, indent int) {
	kept := make([]entry, 0, len(es))
	for _, e := range es {
		if !e.byDefault || w.flip("spell out "+e.key) {
			kept = append(kept, e)
		}
	}
	for _, e := range rapid.Permutation(kept).Draw(w.t, "order") {
		if w.flip("comment") {
			fmt.Fprintf(&w.b, "\n%s# about %s\n", strings.Repeat(" ", indent), e.key)
		}
		w.b.WriteString(strings.Repeat(" ", indent) + w.scalar(e.key) + ":")
		w.value(e.value, indent)
	}
	if len(kept) == 0 { // a mapping that is all defaults still is one
		w.b.WriteString(strings.Repeat(" ", indent) + "{}\n")
	}
}

func (w *writer) value(v any, indent int) {
	switch v := v.(type) {
	case []entry:
		w.b.WriteString("\n")
		w.mapping(v, indent+2)
	case []any:
		if len(v) == 0 {
			w.b.WriteString(" []\n")
			return
		}
		w.b.WriteString("\n")
		for _, item := range v {
			w.b.WriteString(strings.Repeat(" ", indent+2) + "-")
			w.value(item, indent+4)
		}
	case string:
		w.b.WriteString(" " + w.scalar(v) + w.tail())
	case number:
		w.b.WriteString(" " + string(v) + w.tail())
	case spelt:
		w.b.WriteString(" " + rapid.SampledFrom(v).Draw(w.t, "spelling") + w.tail())
	case promQL:
		w.expr(v, indent)
	}
}

func (w *writer) tail() string {
	return rapid.SampledFrom([]string{"\n", "  # why\n", "\n\n", "   \n"}).Draw(w.t, "tail")
}

func (w *writer) scalar(s string) string {
	quote := rapid.SampledFrom([]string{"", `"`, "'"}).Draw(w.t, "quote")
	if s == "" && quote == "" {
		quote = "'"
	}
	return quote + s + quote
}

func (w *writer) expr(tokens promQL, indent int) {
	gaps := []string{" ", "  "}
	style := rapid.SampledFrom([]string{"'", "|", ">-"}).Draw(w.t, "style")
	if style != "'" {
		gaps = append(gaps, "\n"+strings.Repeat(" ", indent+2), "\n"+strings.Repeat(" ", indent+3))
	}
	var text strings.Builder
	for i, token := range tokens {
		if i > 0 {
			text.WriteString(rapid.SampledFrom(gaps).Draw(w.t, "gap"))
		}
		text.WriteString(token)
	}
	if style == "'" {
		w.b.WriteString(" '" + text.String() + "'" + w.tail())
		return
	}
	w.b.WriteString(" " + style + "\n" + strings.Repeat(" ", indent+2) + text.String() + "\n")
}

// TestDigestIgnoresHowItIsWritten: comments, order of keys, white space,
// quoting, spelling of numbers and spelled-out defaults.
func TestDigestIgnoresHowItIsWritten(t *testing.T) {
	digests := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t}
		w.mapping(tree(), 0)
		rs, err := Parse("law.yaml", []byte(w.b.String()))
		if err != nil {
			t.Fatalf("%v\n%s", err, w.b.String())
		}
		digests[rs.Digest] = true
		if len(digests) > 1 {
			t.Fatalf("another digest:\n%s", w.b.String())
		}
	})
	require.Len(t, digests, 1)
}

// TestDigestChangesWithMeaning makes one change at a time to every key of the
// format; all digests differ, from the first one and from each other.
func TestDigestChangesWithMeaning(t *testing.T) {
	data, err := os.ReadFile("testdata/every-key.yaml")
	require.NoError(t, err)
	seen := map[string]string{}
	check := func(name, text string) {
		t.Helper()
		rs, err := Parse("every-key.yaml", []byte(text))
		require.NoError(t, err, name)
		require.Regexp(t, `^sha256:[0-9a-f]{64}$`, rs.Digest)
		require.Empty(t, seen[rs.Digest], "%s has the digest of %s", name, seen[rs.Digest])
		seen[rs.Digest] = name
	}
	check("the file itself", string(data))
	for _, change := range [][2]string{
		{"ruleset: every-key", "ruleset: every-other"},
		{"version: 1.2.3", "version: 1.2.4"},
		{"one of each", "one of all"},
		{"interval: 15s", "interval: 30s"},
		{"query_offset: 1m", "query_offset: 2m"},
		{"scope_by: [cluster, pool]", "scope_by: [pool, cluster]"},
		{"(dynamic)", "(dynamic_slot)"},
		{`slot_mode: {expr: "max by (cluster, pool) (dynamic)"}`, "slot_mode: fixed"},
		{`slot_mode: {expr: "max by (cluster, pool) (dynamic)"}`, "slot_mode: dynamic"},
		{"min_coverage: 0.75", "min_coverage: 0.7"},
		{"gap_tolerance: 3", "gap_tolerance: 2"},
		{"(a)", "(a2)"},
		{"(b)", "(b2)"},
		{"(c)", "(c2)"},
		{"label: master", "label: pool"},
		{"(d)", "(d2)"},
		{"(e)", "(e2)"},
		{"(i)", "(i2)"},
		{"(j)", "(j2)"},
		{"min_workers: 2", "min_workers: 1"},
		{"max_workers: 8", "max_workers: 9"},
		{", max_workers: 8", ""},
		{"floor_delay: 1m", "floor_delay: 2m"},
		{"policy: demand", "policy: exponential"},
		{"  workers: 2", "  workers: 1"},
		{"rounds: true", "rounds: false"},
		{"unit: 2", "unit: 1"},
		{"max_step: 6", "max_step: 7"},
		{"sustained_backlog: 1m", "sustained_backlog: 2m"},
		{"scheduler_backlog: 2m", "scheduler_backlog: 1m"},
		{"boot_deadline: 5m", "boot_deadline: 6m"},
		{"signal: cpu", "signal: cpus"},
		{"signals:\n", "signals:\n  - {signal: extra, class: capacity, expr: e}\n"},
		{"signals:\n", "signals:\n  - {signal: extra, class: guard, expr: e}\n"},
		{"(f)", "(f) + 1"},
		{"unit: count", "unit: jobs"},
		{"jobs wait", "jobs waiting"},
		{"export: input_blocked_jobs", "export: input_unsatisfied_slots"},
		{"    export: input_blocked_jobs\n", ""},
		{"range: [0, 1000]", "range: [0, 999]"},
		{"    range: [0, 1000]\n", ""},
		{"absent: zero", "absent: unknown"},
		{"required: false", "required: true"},
		{"demand: true", "demand: false"},
		{"surplus: true", "surplus: false"},
		{"slot_mode: [fixed, mixed]", "slot_mode: [fixed]"},
		{"    slot_mode: [fixed, mixed]\n", ""},
		{"keep_firing_for: 5m", "keep_firing_for: 6m"},
		{"at_least: 2", "above: 2"},
		{"at_least: 2", "at_least: 3"},
		{"at_least: 2, for: 5m", "at_least: 2, for: 6m"},
		{"below: 1", "at_most: 1"},
		{"below: 1", "below: 2"},
		{"below: 1, for: 10m", "below: 1, for: 11m"},
		{"    scale_out: {above: 0.9}\n", ""},
		{"above: 0.9", "above: 0.8"},
		{"at_least: max_workers", "at_least: 8"},
		{"at_least: max_workers", "above: max_workers"},
		{"holds: [waiting]", "holds: []"},
		{"advice: raise it", "advice: lower it"},
		{"    holds: []\n", ""},
	} {
		require.Contains(t, string(data), change[0])
		check(strings.Join(change[:], " → "), strings.Replace(string(data), change[0], change[1], 1))
	}
}

// TestDigestIsStable: a digest names what ran for as long as history is kept,
// so a new version must give the same one.
func TestDigestIsStable(t *testing.T) {
	rs, err := ParseFile("testdata/every-key.yaml")
	require.NoError(t, err)
	golden(t, "every-key.digest", []byte(rs.Digest+"\n"))
}
