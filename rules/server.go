package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Querier is the Prometheus that a rule set is checked against.
type Querier interface {
	// Instant evaluates an expression at an instant.
	Instant(ctx context.Context, expr string, at time.Time) (Answer, error)
}

// RetentionTeller is a Querier that knows how long it keeps samples.
type RetentionTeller interface {
	// Retention is the storage retention as Prometheus writes it in
	// /api/v1/status/runtimeinfo, such as "15d" or "15d or 50GiB".
	Retention(ctx context.Context) (string, error)
}

// Answer is the answer to an instant query.
type Answer struct {
	Samples  []labels.Labels
	Warnings []string
}

// ServerOptions say against what CheckServer measures.
type ServerOptions struct {
	// Now is the instant to ask for; time.Now if nil.
	Now func() time.Time
	// Slow is how long an expression may take; a tenth of the interval if 0.
	Slow time.Duration
}

// CheckServer asks a server about a rule set: does every selector match a
// series now, how many samples per scope does each expression give, how long
// does that take, and does the server keep samples for as long as the longest
// window. What is fine is said, too, with SeverityInfo. It stops early when ctx
// ends, and with an error when the server answers nothing at all: each
// expression would only say so again, after its time-out.
func CheckServer(ctx context.Context, rs *RuleSet, q Querier, opts ServerOptions) []document.Diagnostic {
	c := serverCheck{rs: rs, q: q, opts: opts, seen: map[string]bool{}}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	if c.opts.Slow == 0 {
		c.opts.Slow = rs.Interval / 10
	}
	if ctx.Err() != nil {
		return nil
	}
	if _, _, err := c.ask(ctx, "vector(1)"); err != nil {
		c.add(document.Position{File: rs.File}, document.SeverityError, CheckServerQuery, fmt.Sprintf("the server answers no query, so nothing was checked with it: %v", err), "")
		return c.ds
	}
	for _, in := range rs.inputs() {
		if ctx.Err() != nil {
			break
		}
		c.expression(ctx, in)
		c.selectors(ctx, in)
		c.ranges(ctx, in)
		c.collisions(ctx, in)
		c.doubled(ctx, in)
	}
	if t, ok := q.(RetentionTeller); ok && ctx.Err() == nil {
		c.retention(ctx, t)
	}
	return c.ds
}

type serverCheck struct {
	rs   *RuleSet
	q    Querier
	opts ServerOptions
	ds   []document.Diagnostic
	// seen are the questions that were asked already.
	seen map[string]bool
}

func (c *serverCheck) add(at document.Position, s document.Severity, check, message, hint string) {
	c.ds = append(c.ds, document.Diagnostic{
		Pos: at, Severity: s, Check: check, Message: message, Hint: hint, Snippet: c.rs.text.Snippet(at),
	})
}

// first reports whether a question is new.
func (c *serverCheck) first(question string) bool {
	was := c.seen[question]
	c.seen[question] = true
	return !was
}

// ask asks for the tick's instant, as the evaluator does.
func (c *serverCheck) ask(ctx context.Context, expr string) (Answer, time.Duration, error) {
	begin := c.opts.Now()
	a, err := c.q.Instant(ctx, expr, begin.Add(-c.rs.QueryOffset))
	return a, c.opts.Now().Sub(begin), err
}

// expression asks for one whole expression.
func (c *serverCheck) expression(ctx context.Context, in input) {
	a, took, err := c.ask(ctx, in.expr.Text)
	at := in.expr.Pos
	if err != nil {
		c.add(at, document.SeverityWarning, CheckServerQuery, fmt.Sprintf("%s: the server does not answer it: %v", in.name, err), "")
		return
	}
	if len(a.Warnings) > 0 {
		c.add(at, document.SeverityWarning, CheckServerQuery, fmt.Sprintf("%s: the server warns: %s", in.name, strings.Join(a.Warnings, "; ")),
			"an answer with warnings may be partial, so the signal counts as unknown")
	}
	if took > c.opts.Slow {
		c.add(at, document.SeverityWarning, CheckServerQuery, fmt.Sprintf("%s: took %s, more than %s, and is asked every %s",
			in.name, took.Round(time.Millisecond), c.opts.Slow, model.Duration(c.rs.Interval)), "a recording rule makes it cheap")
	}
	c.samples(in, a, took)
}

// samples counts how many samples each scope gets.
func (c *serverCheck) samples(in input, a Answer, took time.Duration) {
	perScope := map[string]int{}
	homeless := 0
	for _, s := range a.Samples {
		if key, ok := c.scopeOf(s, in); ok {
			perScope[key]++
		} else {
			homeless++
		}
	}
	at, most, worst := in.expr.Pos, 0, ""
	for key, n := range perScope {
		if n > most || n == most && key < worst {
			most, worst = n, key
		}
	}
	switch {
	case homeless > 0:
		c.add(at, document.SeverityWarning, CheckServerSamples, fmt.Sprintf("%s: %s: no scope gets it",
			in.name, counted(homeless, "sample lacks", "samples lack")+" a label of scope_by ("+strings.Join(c.rs.ScopeBy, ", ")+")"), aggregateHint(c.rs.ScopeBy))
	case most > 1 && in.expr != c.rs.Workers.Master:
		c.add(at, document.SeverityWarning, CheckServerSamples, fmt.Sprintf("%s: scope %s has %d samples, so its value is unknown (duplicate_series)",
			in.name, worst, most), aggregateHint(c.rs.ScopeBy))
	case len(perScope) == 0:
		severity, hint := document.SeverityWarning, ""
		for _, v := range selectors(in.expr.Node) {
			if hint = mayBeAbsent(selectorName(v.LabelMatchers)); hint != "" {
				severity = document.SeverityInfo
				break
			}
		}
		c.add(at, severity, CheckServerSamples, in.name+": no sample now, so its value is unknown", hint)
	default:
		c.add(at, document.SeverityInfo, CheckServerSamples, fmt.Sprintf("%s: one sample in %s, took %s",
			in.name, counted(len(perScope), "scope", "scopes"), took.Round(time.Millisecond)), "")
	}
}

func (c *serverCheck) scopeOf(s labels.Labels, in input) (string, bool) {
	if in.expr.Node.Type() == parser.ValueTypeScalar {
		return scaling.DefaultScope, len(c.rs.ScopeBy) == 0
	}
	var ls []scaling.Label
	for _, name := range c.rs.ScopeBy {
		if s.Get(name) == "" {
			return "", false
		}
		ls = append(ls, scaling.Label{Name: name, Value: s.Get(name)})
	}
	return scaling.NewScope(ls).Key, true
}

func counted(n int, single, plural string) string {
	return fmt.Sprintf("%d %s", n, scaling.Plural(n, single, plural))
}

// selectors asks whether each selector matches a series now.
func (c *serverCheck) selectors(ctx context.Context, in input) {
	for _, v := range selectors(in.expr.Node) {
		bare := bareSelector(v)
		question := "count(" + bare + ")"
		if !c.first(question) {
			continue
		}
		a, _, err := c.ask(ctx, question)
		if err == nil && len(a.Samples) == 0 {
			name := selectorName(v.LabelMatchers)
			severity, hint := document.SeverityInfo, mayBeAbsent(name)
			if hint == "" {
				severity, hint = document.SeverityWarning, whyNoSeries(name)
			}
			c.add(in.expr.within(v), severity, CheckServerSeries, fmt.Sprintf("%s: no series matches %s now", in.name, bare), hint)
		}
	}
}

// mayBeAbsent says why a metric is missing from a healthy cluster, or nothing
// if it never is.
func mayBeAbsent(name string) string {
	switch name {
	case "seatunnel_zeta_pending_head_required_slots", "seatunnel_zeta_pending_head_info":
		return "it is there only while a job waits"
	case "seatunnel_zeta_info":
		return "a cluster has one version, strategy and slot mode: those that are not its own match nothing"
	case "seatunnel_zeta_worker_cpu_cores", "seatunnel_zeta_worker_heap_bytes":
		return "only Zeta 3.0 and later tell it"
	}
	return ""
}

// whyNoSeries says what keeps a metric of Zeta away: with some versions the
// answer is that it never comes (docs/exporter.md).
func whyNoSeries(name string) string {
	switch {
	case strings.HasPrefix(name, "seatunnel_zeta_pending_"):
		return "is the exporter scraped? Zeta 2.3.9 to 2.3.12 do not tell what waits: jobs can wait unseen there, and the scope never shrinks"
	case name == "seatunnel_zeta_resource_rejections_total":
		return "is the exporter scraped? Zeta 2.3.13 does not tell any more once a job was rejected, and the scope does not shrink then"
	case !looksLikeZeta(name) && findSeries(knownSeries(), name) == nil:
		return ""
	}
	return "is the exporter scraped, and is it new enough for this version of Zeta?"
}

// bareSelector writes a selector without offset and @, which do not change
// what it matches.
func bareSelector(v *parser.VectorSelector) string {
	bare := parser.VectorSelector{Name: v.Name, LabelMatchers: v.LabelMatchers}
	return bare.String()
}

// ranges asks whether ranges hold the two samples that a rate needs: that is,
// whether they are longer than two scrape intervals.
func (c *serverCheck) ranges(ctx context.Context, in input) {
	for _, u := range rangeUses(in.expr.Node) {
		if u.matrix == nil || u.matrix.RangeExpr != nil || !slices.Contains(twoSampleFunctions(), u.function) {
			continue
		}
		question := fmt.Sprintf("max(count_over_time(%s[%s])) < 2", bareSelector(u.selector), model.Duration(u.matrix.Range))
		if !c.first(question) {
			continue
		}
		if a, _, err := c.ask(ctx, question); err == nil && len(a.Samples) > 0 {
			c.add(in.expr.within(u.matrix), document.SeverityWarning, CheckServerRange, fmt.Sprintf("%s: no series of %s has two samples within %s, so %s gives nothing",
				in.name, bareSelector(u.selector), model.Duration(u.matrix.Range), u.function), "make the range at least two scrape intervals, better four")
		}
	}
}

// retention compares how long samples are kept with the longest window.
func (c *serverCheck) retention(ctx context.Context, t RetentionTeller) {
	at := document.Position{File: c.rs.File}
	text, err := t.Retention(ctx)
	if err != nil {
		c.add(at, document.SeverityInfo, CheckServerRetention, fmt.Sprintf("how long the server keeps samples is not known: %v", err), "")
		return
	}
	kept, err := parseRetention(text)
	if err != nil {
		c.add(at, document.SeverityInfo, CheckServerRetention, fmt.Sprintf("the server keeps samples for %s; the longest window is %s", text, model.Duration(c.rs.Lookback())), "")
		return
	}
	need := c.rs.Lookback()
	severity, hint := document.SeverityInfo, ""
	if kept < need {
		severity, hint = document.SeverityWarning, "after a restart the windows begin anew; raise --storage.tsdb.retention.time or shorten the windows"
	}
	c.add(at, severity, CheckServerRetention, fmt.Sprintf("the server keeps samples for %s; the longest window with its lookback is %s", model.Duration(kept), model.Duration(need)), hint)
}

// errNoTime is returned for a retention that is bounded by size alone.
var errNoTime = errors.New("not bounded by time")

var retentionTime = regexp.MustCompile(`^(?:[0-9]+[a-z]+)+$`)

// parseRetention finds the time in a retention such as "15d or 50GiB".
func parseRetention(text string) (time.Duration, error) {
	for part := range strings.SplitSeq(text, " or ") {
		if part = strings.TrimSpace(part); retentionTime.MatchString(part) {
			if v, err := model.ParseDuration(part); err == nil {
				return time.Duration(v), nil
			}
		}
	}
	return 0, errNoTime
}

// Lookback is how far into the past a restart of the set reads: the longest
// window (spec 1.2) and what the expression behind it looks back itself.
func (rs *RuleSet) Lookback() time.Duration {
	gap := 2 * time.Duration(rs.GapTolerance) * rs.Interval
	own := func(e *Expr) time.Duration {
		if e == nil || e.Node == nil {
			return 0
		}
		return lookback(e.Node, true)
	}
	var longest, window time.Duration
	for i := range rs.Signals {
		s := &rs.Signals[i]
		var w time.Duration
		if s.Out != nil {
			w = s.Out.For + s.KeepFiringFor + gap
		}
		if s.In != nil {
			w = max(w, s.In.For)
		}
		if s.Demand {
			w = max(w, rs.Step.SchedulerBacklog+gap)
		}
		window = max(window, w)
		longest = max(longest, w+own(s.Expr))
	}
	if rs.Bounds != nil {
		window = max(window, rs.Bounds.FloorDelay)
	}
	// The inputs about workers are read over all windows.
	for _, e := range []*Expr{rs.SlotModeExpr, rs.Workers.Current, rs.Workers.Reporting, rs.Workers.Master, rs.Workers.Sources} {
		longest = max(longest, window+own(e))
	}
	return cmp.Or(longest, rs.Interval) + rs.QueryOffset
}
