package backtest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Limits are what a scope had to keep to over time: changes in the order of
// their time, each laid over what was before. The zero value changes nothing:
// then a rule set's own bounds hold.
type Limits struct {
	changes []LimitChange
}

// LimitChange is what changes at an instant; what is nil stays as it was.
type LimitChange struct {
	// Scope is a scope's key, empty for all of them.
	Scope string `yaml:"scope" json:"scope,omitempty"`
	// From is when it begins; zero is before everything.
	From time.Time `yaml:"from" json:"from,omitzero"`

	MinWorkers *int           `yaml:"min_workers" check:"least=0" json:"minWorkers,omitempty"`
	MaxWorkers *int           `yaml:"max_workers" check:"least=1" json:"maxWorkers,omitempty"`
	FloorDelay *time.Duration `yaml:"floor_delay" check:"least=0s,most=1d" json:"floorDelay,omitempty"`
	Paused     *bool          `yaml:"paused" json:"paused,omitempty"`
	Mode       string         `yaml:"mode" check:"oneof=advisory|webhook|direct" json:"mode,omitempty"`
	Deployment string         `yaml:"deployment" check:"oneof=session|application" json:"deployment,omitempty"`
	// CooldownUntil and BackoffUntil end what an action has begun.
	CooldownUntil *time.Time `yaml:"cooldown_until" json:"cooldownUntil,omitempty"`
	BackoffUntil  *time.Time `yaml:"backoff_until" json:"backoffUntil,omitempty"`
	// ActionInFlight is true while an action is under way.
	ActionInFlight *bool `yaml:"action_in_flight" json:"actionInFlight,omitempty"`
}

// since is what holds from an instant on, Unix milliseconds.
type since struct {
	from   int64
	limits scaling.Limits
}

// NewLimits takes changes in any order; those of one instant count in theirs.
func NewLimits(changes []LimitChange) *Limits {
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b LimitChange) int { return a.From.Compare(b.From) })
	return &Limits{changes: sorted}
}

// Validate reports every scope and instant at which limits contradict each other
// or the bounds of a rule set.
func (l *Limits) Validate(bounds *scaling.Bounds) []error {
	var errs []error
	for _, scope := range l.scopes() {
		for _, s := range l.line(scope, bounds) {
			for _, err := range s.limits.Bounds.Validate() {
				where := ""
				if scope != "" {
					where = " of scope " + scaling.ShownKey(scope)
				}
				if from := time.UnixMilli(s.from).UTC(); !from.IsZero() {
					where += " from " + scaling.At(from)
				}
				errs = append(errs, fmt.Errorf("limits%s: %w", where, err))
			}
		}
	}
	return errs
}

func (l *Limits) scopes() []string {
	scopes := []string{""}
	for _, c := range l.changes {
		if !slices.Contains(scopes, c.Scope) {
			scopes = append(scopes, c.Scope)
		}
	}
	return scopes
}

// floorDelay is the longest of all.
func (l *Limits) floorDelay() time.Duration {
	var longest time.Duration
	for _, c := range l.changes {
		if c.FloorDelay != nil {
			longest = max(longest, *c.FloorDelay)
		}
	}
	return longest
}

// over returns the limits of every scope and tick over a rule set's bounds. Ticks
// of a scope may come in any order.
func (l *Limits) over(bounds *scaling.Bounds) func(scaling.Scope, time.Time) scaling.Limits {
	lines := map[string][]since{}
	return func(scope scaling.Scope, at time.Time) scaling.Limits {
		line, ok := lines[scope.Key]
		if !ok {
			line = l.line(scope.Key, bounds)
			lines[scope.Key] = line
		}
		ms := at.UnixMilli()
		i := len(line) - 1
		for i > 0 && line[i].from > ms {
			i--
		}
		return line[i].limits
	}
}

// line lays the changes of a scope over each other.
func (l *Limits) line(scope string, bounds *scaling.Bounds) []since {
	now := scaling.Limits{Bounds: scaling.DefaultBounds(), Mode: scaling.Advisory, Deployment: scaling.Session}
	if bounds != nil {
		now.Bounds = *bounds
	}
	line := []since{{from: time.Time{}.UnixMilli(), limits: now}}
	for i := range l.changes {
		c := &l.changes[i]
		if c.Scope != "" && c.Scope != scope {
			continue
		}
		c.layOver(&now)
		if from := c.From.UnixMilli(); from != line[len(line)-1].from {
			line = append(line, since{from: from, limits: now})
			continue
		}
		line[len(line)-1].limits = now
	}
	return line
}

func (c *LimitChange) layOver(l *scaling.Limits) {
	set(&l.Bounds.Min, c.MinWorkers)
	set(&l.Bounds.Max, c.MaxWorkers)
	set(&l.Bounds.FloorDelay, c.FloorDelay)
	set(&l.Paused, c.Paused)
	set(&l.CooldownUntil, c.CooldownUntil)
	set(&l.BackoffUntil, c.BackoffUntil)
	set(&l.ActionInFlight, c.ActionInFlight)
	if c.Mode != "" {
		l.Mode = scaling.Mode(c.Mode)
	}
	if c.Deployment != "" {
		l.Deployment = scaling.Deployment(c.Deployment)
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// limitsFile is a file of changes.
type limitsFile struct {
	Limits []LimitChange `yaml:"limits" check:"required,title=a change of limits"`
}

// What a file of limits may hold.
const (
	maxLimitsBytes = 4 << 20
	limitsCheck    = "limits"
)

// ReadLimits reads what --limits says: "MIN..MAX", either of which may be
// left out, or the path of a file of changes.
func ReadLimits(text string) (*Limits, error) {
	if low, high, ok := strings.Cut(text, ".."); ok && !strings.ContainsAny(text, "/\\") {
		return boundsOf(low, high)
	}
	content, err := document.ReadFile(text, maxLimitsBytes)
	if err != nil {
		return nil, fmt.Errorf("%w: expected MIN..MAX such as 1..10, or a file", err)
	}
	return ParseLimits(text, content)
}

func boundsOf(low, high string) (*Limits, error) {
	c := LimitChange{}
	for _, part := range []struct {
		text string
		to   **int
	}{{low, &c.MinWorkers}, {high, &c.MaxWorkers}} {
		if part.text == "" {
			continue
		}
		n, err := strconv.Atoi(part.text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no number of workers: expected MIN..MAX such as 1..10, or a file", part.text)
		}
		*part.to = &n
	}
	return NewLimits([]LimitChange{c}), nil
}

// ParseLimits reads a file of changes and reports all that is wrong with it at
// once.
func ParseLimits(path string, content []byte) (*Limits, error) {
	report, root := document.Parse(path, content, document.ParseOptions{MaxBytes: maxLimitsBytes, MaxDepth: 8, Check: limitsCheck})
	d := &document.Decoder{
		Report: report, Name: path, LooseTexts: true,
		Schema: &document.Schema{Types: map[reflect.Type]document.DecodeFunc{reflect.TypeFor[time.Time](): decodeTime}},
	}
	var f limitsFile
	switch {
	case root != nil:
		d.Decode(root, &f, "the file")
	case len(d.Errors) == 0:
		d.Fail(&yaml.Node{Line: 1, Column: 1}, limitsCheck, "", "the file is empty, expected limits")
	}
	if len(report.Errors) > 0 {
		document.Sort(report.Errors)
		return nil, &document.ErrorList{Diagnostics: report.Errors}
	}
	for i := range f.Limits {
		f.Limits[i].Scope = scaling.SpelledKey(f.Limits[i].Scope)
	}
	return NewLimits(f.Limits), nil
}

func decodeTime(d *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	at, err := time.Parse(time.RFC3339, n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		d.Fail(n, limitsCheck, "", "%s is %q, expected a time such as 2026-03-14T09:26:30Z", p.Subject, n.Value)
		return nil, false
	}
	return at, true
}
