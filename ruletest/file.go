package ruletest

import (
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// File is one decoded test file.
type File struct {
	// Path is where it was read from; rule files are relative to its folder.
	Path string
	// RuleFiles and Packs name the rule sets under test, at least one.
	RuleFiles []Reference
	Packs     []Reference
	// EvaluationInterval is the time between ticks; 0 takes each rule set's own.
	EvaluationInterval time.Duration
	Tests              []Test

	// source quotes the file in problems that are found later.
	source *decoder
}

// Reference is a name in a test file with its place.
type Reference struct {
	Name string
	Pos  rules.Position
}

// Test is one story: series, and what is decided on them at certain times.
type Test struct {
	Name string
	// RuleSet restricts the test to the rule set of that name; without it the
	// test runs against every rule set of the file.
	RuleSet Reference
	// Interval is the spacing of the values of Series; 0 takes the time between
	// ticks.
	Interval  time.Duration
	Series    []InputSeries
	Limits    Limits
	Decisions []DecisionTest
	PromQL    []PromQLTest
	Pos       rules.Position
}

// InputSeries is one series in notation. Its first value lies at t = 0.
type InputSeries struct {
	source.Notation
	SeriesPos, ValuesPos rules.Position
}

// Limits are laid over the rule set's bounds; what is nil is left as it is.
type Limits struct {
	MinWorkers *int
	MaxWorkers *int
	FloorDelay *time.Duration
}

// DecisionTest is what is expected at one time of one scope. Nil fields are
// not compared.
type DecisionTest struct {
	// EvalTime picks the newest tick that is not later.
	EvalTime time.Duration
	// Scope is the scope's key; nil is allowed while there is one scope.
	Scope              *string
	Row                *scaling.RowID
	Action             *scaling.Action
	RecommendedWorkers *Count
	CurrentWorkers     *Count
	StaleWorkers       *Count
	MetricsValid       *bool
	// Triggers and Blockers are compared as sets of names.
	Triggers, Blockers *[]string
	// Reason is a part of the reason.
	Reason *string
	Pos    rules.Position
}

// Count is an expected number of workers; it is unknown where the file says
// null.
type Count struct {
	Known bool
	N     int
}

// PromQLTest is an expression and the samples that it must give.
type PromQLTest struct {
	Expr     string
	EvalTime time.Duration
	Samples  []ExpectedSample
	Pos      rules.Position
}

// ExpectedSample is one sample of a PromQLTest.
type ExpectedSample struct {
	Labels labels.Labels
	Value  float64
}
