package ruletest

import (
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// File is one decoded test file. The tags are explained in package document; the
// word promql is of decode.go.
type File struct {
	// Path is where it was read from; rule files are relative to its folder.
	Path string
	// RuleFiles and Packs name the rule sets under test, at least one.
	RuleFiles []Reference `yaml:"rule_files" check:"title=an entry of rule_files"`
	Packs     []Reference `yaml:"packs" check:"title=an entry of packs"`
	// EvaluationInterval is the time between ticks; 0 takes each rule set's own.
	EvaluationInterval time.Duration `yaml:"evaluation_interval" check:"least=1ms,most=1d"`
	Tests              []Test        `yaml:"tests" check:"required,title=a test"`

	// source quotes the file in problems that are found later.
	source *document.Report
}

// Reference is a name in a test file with its place.
type Reference struct {
	Name string
	Pos  document.Position
}

// Test is one story: series, and what is decided on them at certain times.
type Test struct {
	document.Place
	Name string `yaml:"name"`
	// RuleSet restricts the test to the rule set of that name; without it the
	// test runs against every rule set of the file.
	RuleSet Reference `yaml:"rule_set"`
	// Interval is the spacing of the values of Series; 0 takes the time between
	// ticks. A replay adds up many of them.
	Interval  time.Duration  `yaml:"interval" check:"least=1ms,most=1d"`
	Series    []InputSeries  `yaml:"input_series" check:"title=an input series"`
	Limits    Limits         `yaml:"limits" check:"title=limits"`
	Decisions []DecisionTest `yaml:"decision_test" check:"title=a decision test"`
	PromQL    []PromQLTest   `yaml:"promql_expr_test" check:"title=a PromQL test"`
}

// InputSeries is one series in notation. Its first value lies at t = 0.
type InputSeries struct {
	source.Notation `yaml:",inline"`
}

// Limits are laid over the rule set's bounds; what is nil is left as it is.
type Limits struct {
	MinWorkers *int           `yaml:"min_workers" check:"least=0"`
	MaxWorkers *int           `yaml:"max_workers" check:"least=1"`
	FloorDelay *time.Duration `yaml:"floor_delay"`
}

// DecisionTest is what is expected at one time of one scope. Nil fields are
// not compared.
type DecisionTest struct {
	document.Place
	// EvalTime picks the newest tick that is not later.
	EvalTime time.Duration `yaml:"eval_time" check:"required"`
	// Scope is the scope's key; nil is allowed while there is one scope.
	Scope              *string         `yaml:"scope"`
	Row                *scaling.RowID  `yaml:"row"`
	Action             *scaling.Action `yaml:"action"`
	RecommendedWorkers *Count          `yaml:"recommended_workers"`
	CurrentWorkers     *Count          `yaml:"current_workers"`
	MetricsValid       *bool           `yaml:"metrics_valid"`
	StaleWorkers       *Count          `yaml:"stale_workers"`
	// Triggers and Blockers are compared as sets of names.
	Triggers *[]string `yaml:"triggers" check:"title=an entry of triggers"`
	Blockers *[]string `yaml:"blockers" check:"title=an entry of blockers"`
	// Reason is a part of the reason.
	Reason *string `yaml:"reason"`
}

// Count is an expected number of workers; it is unknown where the file says
// null.
type Count struct {
	Known bool
	N     int
}

// PromQLTest is an expression and the samples that it must give.
type PromQLTest struct {
	document.Place
	Expr     string           `yaml:"expr" check:"required,promql"`
	EvalTime time.Duration    `yaml:"eval_time" check:"required"`
	Samples  []ExpectedSample `yaml:"exp_samples" check:"title=an expected sample"`
}

// ExpectedSample is one sample of a PromQLTest.
type ExpectedSample struct {
	Labels labels.Labels `yaml:"labels"`
	Value  float64       `yaml:"value" check:"required"`
}
