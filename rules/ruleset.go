// Package rules reads, checks and ships rule sets: versioned YAML files that
// say which PromQL feeds which class of signal, with thresholds and windows
// (spec 2).
package rules

import (
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Format is the only file format that this version reads.
const Format = "zeta-scaler/v1"

// Defaults of spec 2.
const (
	DefaultInterval         = 30 * time.Second
	DefaultMinCoverage      = 0.5
	DefaultGapTolerance     = 1
	DefaultOutFor           = 5 * time.Minute
	DefaultInFor            = 10 * time.Minute
	DefaultOutThreshold     = 0.8
	DefaultInThreshold      = 0.3
	DefaultStepWorkers      = 1
	DefaultMaxStep          = 4
	DefaultUnit             = 1
	DefaultSustainedBacklog = 30 * time.Second
	DefaultSchedulerBacklog = time.Minute
	DefaultBootDeadline     = 3 * time.Minute
)

// RuleSet is one decoded and validated file, defaults filled in. It is not
// changed after Parse.
type RuleSet struct {
	Name        string
	Version     string
	Description string
	// Digest is the SHA-256 of the normalised content, "sha256:<hex>".
	Digest string
	// File is where the set was read from, "pack:NAME" for an embedded one.
	File string
	// Set says what of a pack was changed, one text for each change; nil for
	// anything but a pack with changes.
	Set []string

	// Interval between ticks, ≥ 1s.
	Interval time.Duration
	// QueryOffset ≥ 0: the expressions are evaluated at tick − offset.
	QueryOffset time.Duration
	// ScopeBy are the labels that tell scopes apart, in order; empty means the
	// single scope "default".
	ScopeBy []string
	// SlotMode is fixed or dynamic; SlotModeExpr, if not nil, decides per scope
	// instead (1 dynamic, 0 fixed, in between mixed).
	SlotMode     scaling.SlotMode
	SlotModeExpr *Expr
	// MinCoverage is in 0…1.
	MinCoverage float64
	// GapTolerance ≥ 0 is how many consecutive unknown ticks a blocking
	// signal, guard or demand window bridges.
	GapTolerance int
	Workers      Workers
	// Bounds are nil when the file has none.
	Bounds  *scaling.Bounds
	Step    Step
	Signals []Signal
	// Warnings are what Lint says about the set. They do not stop a load.
	Warnings []document.Diagnostic

	// places are where the keys stand, by path such as "bounds.min_workers"; text
	// is the file that they stand in.
	places document.Places
	text   *document.Text
	// signalsUnread says that signals was no list: what is said about the set as a
	// whole then makes no sense.
	signalsUnread bool
}

// Expr is a parsed PromQL expression.
type Expr struct {
	// Text is the expression as written in the file, without surrounding space.
	Text string
	Node parser.Expr
	// Pos is where the expression stands in the file.
	Pos document.Position

	// place finds a byte of Text in the file; nil without a file.
	place func(offset int) document.Position
}

// Workers are the inputs that count workers. Current and Reporting are always
// set; the others are nil when the file does not name them.
type Workers struct {
	Current   *Expr
	Reporting *Expr
	// Master yields one sample per scope whose label MasterLabel tells which
	// Zeta master answers.
	Master      *Expr
	MasterLabel string
	// Slots is the number of slots per worker, Unsatisfied the number of task
	// slots that jobs lack.
	Slots       *Expr
	Unsatisfied *Expr
	// Free is the number of task slots that no job has, for the reason of a
	// decision alone.
	Free *Expr
	// Sources is the number of Zeta clusters, or of exporters that count as
	// several, behind one scope: with more than one nothing is known of it.
	Sources *Expr
}

// StepPolicy is how far one scale-out goes (spec 1.8).
type StepPolicy string

// The step policies.
const (
	StepFixed       StepPolicy = "fixed"
	StepExponential StepPolicy = "exponential"
	StepDemand      StepPolicy = "demand"
)

// Step is the step policy with its numbers.
type Step struct {
	Policy StepPolicy `yaml:"policy" check:"oneof=fixed|exponential|demand"`
	// Workers is the step of policy fixed, 1 ≤ Workers ≤ MaxStep.
	Workers int `yaml:"workers" check:"least=1,most=2147483647"`
	// Rounds lets a shortage that goes on through a convergence be asked for again
	// within the cooldown. It is for policy fixed; the others always do so.
	Rounds bool `yaml:"rounds"`
	// Unit applies to exponential and demand: workers come in multiples of it.
	Unit int `yaml:"unit" check:"least=1,most=2147483647"`
	// MaxStep caps one step of policy demand, in workers.
	MaxStep int `yaml:"max_step" check:"least=1,most=2147483647"`
	// SustainedBacklog is the time between rounds of policy exponential.
	SustainedBacklog time.Duration `yaml:"sustained_backlog" check:"most=1y"`
	// SchedulerBacklog is for how long demand wakes an empty scope.
	SchedulerBacklog time.Duration `yaml:"scheduler_backlog" check:"most=1y"`
	// BootDeadline is for how long a requested worker counts as booting.
	BootDeadline time.Duration `yaml:"boot_deadline" check:"most=1y"`
}

// LaterRounds reports whether a pressure that goes on is one episode of several
// rounds, which the cooldown does not hold apart (spec 1.8).
func (s *Step) LaterRounds() bool { return s.Policy != StepFixed || s.Rounds }

// Absent says what a scope without a sample means for a signal.
type Absent string

// The choices; AbsentZero is for event counters that do not exist yet.
const (
	AbsentUnknown Absent = "unknown"
	AbsentZero    Absent = "zero"
)

// Signal is one expression with its conditions.
type Signal struct {
	Name  string
	Class scaling.Class
	Expr  *Expr
	Unit  string
	// Summary is an alertmanager template for the sentence in the reason; empty
	// for the default.
	Summary string
	// Export names the input metric that the signal feeds, without prefix, such
	// as "input_avg_cpu"; empty for none.
	Export string
	// Range, if not nil, is the closed interval of valid values.
	Range  *[2]float64
	Absent Absent
	// Required signals must be known for metrics_valid.
	Required bool
	// Demand marks the one signal whose value > 0 means that jobs want workers.
	Demand bool
	// Surplus marks a signal whose value is how many workers can go at once.
	Surplus bool
	// SlotModes, if not empty, lists the slot modes in which the signal applies.
	SlotModes []scaling.SlotMode
	// KeepFiringFor keeps the scale-out condition sustained after it turned
	// false.
	KeepFiringFor time.Duration
	// Out and In are nil where the signal has no such condition.
	Out *Condition
	In  *Condition
	// Holds are the names of the blocking signals that a guard explains;
	// HoldsSet tells "holds: []" (warn only) from its absence (all).
	Holds    []string
	HoldsSet bool
	// Advice is what a guard tells the operator to look at.
	Advice string
	Pos    document.Position

	// path is where the signal stands, such as "signals[0]", in places.
	path   string
	places document.Places
}

// Comparison is a comparison operator of the format.
type Comparison string

// The comparisons.
const (
	Above   Comparison = "above"
	AtLeast Comparison = "at_least"
	Below   Comparison = "below"
	AtMost  Comparison = "at_most"
)

// Symbol is the comparison as people write it.
func (c Comparison) Symbol() string {
	switch c {
	case Above:
		return ">"
	case AtLeast:
		return "≥"
	case Below:
		return "<"
	default:
		return "≤"
	}
}

// Condition is one direction of a signal.
type Condition struct {
	Comparison Comparison
	Threshold  float64
	// MaxWorkers is true when the threshold is the word max_workers: the
	// scope's own upper bound at the tick. Threshold is then unused.
	MaxWorkers bool
	// For is the stabilization window.
	For time.Duration
}
