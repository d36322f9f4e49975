package rules

import (
	"math"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The forms are a rule set as a file has it; the tags are explained in package
// document, the words name, scopelabel and template in decode.go.

// setForm is a whole file.
type setForm struct {
	Format       string        `yaml:"format" check:"required"`
	Name         string        `yaml:"ruleset" check:"required,name=set"`
	Version      version       `yaml:"version" check:"required"`
	Description  string        `yaml:"description"`
	Interval     time.Duration `yaml:"interval" check:"least=1s,most=1d"`
	QueryOffset  time.Duration `yaml:"query_offset" check:"most=1y"`
	ScopeBy      []string      `yaml:"scope_by" check:"title=a label of scope_by,scopelabel"`
	SlotMode     slotMode      `yaml:"slot_mode"`
	MinCoverage  float64       `yaml:"min_coverage" check:"least=0,most=1"`
	GapTolerance int           `yaml:"gap_tolerance" check:"least=0,most=1000"`
	Workers      workersForm   `yaml:"workers" check:"required"`
	Bounds       *boundsForm   `yaml:"bounds" check:"title=bounds"`
	Step         Step          `yaml:"step"`
	Signals      []signalForm  `yaml:"signals" check:"required,title=a signal"`
}

// SetDefaults sets those of spec 2.
func (f *setForm) SetDefaults() {
	f.Interval, f.SlotMode.Mode = DefaultInterval, scaling.FixedSlots
	f.MinCoverage, f.GapTolerance = DefaultMinCoverage, DefaultGapTolerance
	f.Step = defaultStep()
}

func defaultStep() Step {
	return Step{
		Policy: StepFixed, Workers: DefaultStepWorkers, Unit: DefaultUnit, MaxStep: DefaultMaxStep,
		SustainedBacklog: DefaultSustainedBacklog, SchedulerBacklog: DefaultSchedulerBacklog, BootDeadline: DefaultBootDeadline,
	}
}

// version is a semantic version.
type version string

// slotMode is a word, or an expression that decides per scope.
type slotMode struct {
	Mode scaling.SlotMode
	Expr *Expr
}

// exprForm is a mapping with nothing but an expression.
type exprForm struct {
	Expr *Expr `yaml:"expr" check:"required"`
}

type workersForm struct {
	Current   exprForm `yaml:"current" check:"required"`
	Reporting exprForm `yaml:"reporting" check:"required"`
	Master    struct {
		Expr  *Expr  `yaml:"expr" check:"required"`
		Label string `yaml:"label" check:"required,name=label"`
	} `yaml:"master"`
	Slots       exprForm `yaml:"slots"`
	Unsatisfied exprForm `yaml:"unsatisfied"`
	Free        exprForm `yaml:"free"`
	Sources     exprForm `yaml:"sources"`
}

type boundsForm struct {
	MinWorkers int           `yaml:"min_workers" check:"least=0,most=2147483647"`
	MaxWorkers int           `yaml:"max_workers" check:"least=1,most=2147483647"`
	FloorDelay time.Duration `yaml:"floor_delay" check:"most=1y"`
}

// SetDefaults sets those that hold without any bounds.
func (f *boundsForm) SetDefaults() {
	b := scaling.DefaultBounds()
	f.MinWorkers, f.MaxWorkers, f.FloorDelay = b.Min, b.Max, b.FloorDelay
}

// signalForm is one entry of signals.
type signalForm struct {
	Name          string             `yaml:"signal" check:"required,name=signal"`
	Class         scaling.Class      `yaml:"class" check:"required,oneof=blocking|saturation|capacity|guard"`
	Expr          *Expr              `yaml:"expr" check:"required"`
	Unit          string             `yaml:"unit"`
	Summary       string             `yaml:"summary" check:"template"`
	Export        export             `yaml:"export"`
	Range         *valueRange        `yaml:"range"`
	Absent        Absent             `yaml:"absent" check:"oneof=unknown|zero"`
	Required      *bool              `yaml:"required"`
	Demand        bool               `yaml:"demand"`
	Surplus       bool               `yaml:"surplus"`
	SlotModes     []scaling.SlotMode `yaml:"slot_mode" check:"title=slot_mode of a signal,oneof=fixed|dynamic|mixed"`
	KeepFiringFor time.Duration      `yaml:"keep_firing_for" check:"most=1y"`
	Out           *Condition         `yaml:"scale_out"`
	In            *Condition         `yaml:"scale_in"`
	Holds         []string           `yaml:"holds" check:"title=an entry of holds"`
	Advice        string             `yaml:"advice"`
}

// SetDefaults sets those of spec 2.
func (f *signalForm) SetDefaults() { f.Absent = AbsentUnknown }

// export is the name of an input metric.
type export string

// valueRange is the closed interval of valid values, whose ends may be infinite.
type valueRange [2]float64

// conditionForm is scale_out or scale_in.
type conditionForm struct {
	Above   *threshold    `yaml:"above"`
	AtLeast *threshold    `yaml:"at_least"`
	Below   *threshold    `yaml:"below"`
	AtMost  *threshold    `yaml:"at_most"`
	For     time.Duration `yaml:"for" check:"most=1y"`
}

// threshold is a number, or the word max_workers.
type threshold struct {
	number     float64
	maxWorkers bool
}

// noWindow stands for a condition that sets no window of its own.
const noWindow = time.Duration(math.MinInt64)

// SetDefaults marks what the direction decides.
func (f *conditionForm) SetDefaults() { f.For = noWindow }
