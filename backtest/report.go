package backtest

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Report is what a backtest found.
type Report struct {
	Source string `json:"source"`
	// Start and End are the period that was asked for, From and To the first and
	// the last tick of the first rule set that was judged; nil without any.
	Start time.Time  `json:"start"`
	End   time.Time  `json:"end"`
	From  *time.Time `json:"from"`
	To    *time.Time `json:"to"`
	// Partial is true when the backtest ended before the period did, and Stopped
	// says why.
	Partial bool   `json:"partial"`
	Stopped string `json:"stopped,omitempty"`
	// RuleSets are those that were replayed, in the order given.
	RuleSets []RuleSet `json:"ruleSets"`
	// Ticks counts those of the first rule set.
	Ticks int `json:"ticks"`
	// Notes are remarks for people: what the source did not have, what was left
	// out.
	Notes []string `json:"notes"`
	// Failures are expressions that had no value at some ticks.
	Failures []*Failure `json:"failures"`
	Scopes   []*Scope   `json:"scopes"`

	others []string
}

// Others are the keys of scopes that were there, too, and were not asked for; of
// very many the first. A run that goes on from a checkpoint knows those since then.
func (r *Report) Others() []string { return r.others }

// RuleSet is one of the rule sets.
type RuleSet struct {
	scaling.RuleSetRef
	IntervalSeconds float64 `json:"intervalSeconds"`
}

// Failure is an expression that could not be evaluated at some ticks, so that
// its signal was unknown there.
type Failure struct {
	// RuleSet is the index of the rule set.
	RuleSet int    `json:"ruleSet"`
	Expr    string `json:"expr"`
	Ticks   int    `json:"ticks"`
	// First and Last are ticks that failed; there may be others between them that
	// did not.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Error is that of the first one.
	Error string `json:"error"`
}

// Scope is one scope over the period.
type Scope struct {
	Scope scaling.Scope `json:"scope"`
	// Verdicts are those of the rule sets, in their order.
	Verdicts []*Verdict `json:"verdicts"`
	// Comparison is nil with one rule set.
	Comparison *Comparison `json:"comparison,omitempty"`
	// Plot is nil if there is none.
	Plot *Plot `json:"plot,omitempty"`
}

// Verdict is what one rule set said about a scope.
type Verdict struct {
	// Ticks counts those at which the scope was there, Failed those of them at
	// which an expression had no value, and Unknown those without a worker count.
	Ticks   int `json:"ticks"`
	Failed  int `json:"failedTicks"`
	Unknown int `json:"unknownTicks"`
	// Rows and Actions count ticks.
	Rows    map[scaling.RowID]int  `json:"rows"`
	Actions map[scaling.Action]int `json:"actions"`
	// Recommendations counts new ones: how often somebody would have been asked.
	Recommendations map[scaling.Action]int `json:"recommendations"`
	// ObservedWorkerHours is how many workers there were, over time;
	// RecommendedWorkerHours how many were recommended at each tick, given those.
	ObservedWorkerHours    float64 `json:"observedWorkerHours"`
	RecommendedWorkerHours float64 `json:"recommendedWorkerHours"`
	// ObservedWorkerTicks and RecommendedWorkerTicks are the same, counted in
	// workers at each tick.
	ObservedWorkerTicks    float64 `json:"observedWorkerTicks"`
	RecommendedWorkerTicks float64 `json:"recommendedWorkerTicks"`
	// ShortHours is how long a SCALE_OUT stood, SpareHours a SCALE_IN_CANDIDATE.
	ShortHours float64 `json:"shortHours"`
	SpareHours float64 `json:"spareHours"`
	// Changes are the first decision and those that differ from the one before;
	// MoreChanges counts those that are not listed.
	Changes     []Change `json:"changes"`
	MoreChanges int      `json:"moreChanges"`
}

// Change is a decision that differs from the one before.
type Change struct {
	At          time.Time      `json:"at"`
	Action      scaling.Action `json:"action"`
	Row         scaling.RowID  `json:"row"`
	Current     *int           `json:"currentWorkers"`
	Recommended *int           `json:"recommendedWorkers"`
	Reason      string         `json:"reason"`
}

// Comparison is how far two rule sets agree on a scope, at the ticks of the
// first.
type Comparison struct {
	Ticks  int `json:"ticks"`
	Differ int `json:"differ"`
	// Differences are the stretches at which they differ; MoreDifferences counts
	// those that are not listed.
	Differences     []*Difference `json:"differences"`
	MoreDifferences int           `json:"moreDifferences"`
}

// Difference is a stretch of ticks at which action or target differ, always in
// the same way.
type Difference struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Ticks int       `json:"ticks"`
	// First and Second are what the rule sets said.
	First  Said `json:"first"`
	Second Said `json:"second"`
}

// Said is an action with its row and target.
type Said struct {
	Action      scaling.Action `json:"action"`
	Row         scaling.RowID  `json:"row"`
	Recommended *int           `json:"recommendedWorkers"`
}

// hours is so many ticks in hours.
func hours(ticks int, interval time.Duration) float64 {
	return float64(ticks) * interval.Hours()
}
