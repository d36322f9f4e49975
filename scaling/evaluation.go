package scaling

import "time"

// Window is one condition of a signal with its progress.
type Window struct {
	Direction  Direction `json:"direction"`
	Comparison string    `json:"comparison"`
	// Threshold is nil while a word such as max_workers has no number (an
	// unbounded scope).
	Threshold     *float64 `json:"threshold"`
	Truth         string   `json:"state"`
	Sustained     bool     `json:"sustained"`
	HeldSeconds   float64  `json:"heldSeconds"`
	WindowSeconds float64  `json:"windowSeconds"`
	AtLeast       bool     `json:"atLeast,omitempty"`
	// SustainedAt is the first tick at which it will have held for its window if
	// nothing changes; zero if it does not hold, or has.
	SustainedAt time.Time `json:"sustainedAt,omitzero"`
}

// Input is one signal of a scope at a tick, with its windows.
type Input struct {
	Name  string `json:"name"`
	Class Class  `json:"class"`
	Unit  string `json:"unit,omitempty"`
	// Export names the input metric that the signal feeds, such as
	// input_avg_cpu; empty for none.
	Export string `json:"export,omitempty"`
	Value  Value  `json:"value"`
	// Reason says why the value is unknown.
	Reason string `json:"reason,omitempty"`
	// Applies is false when the slot mode or an empty scope takes the signal
	// out of the decision.
	Applies bool     `json:"applies"`
	Windows []Window `json:"windows,omitempty"`
}

// Shadow is what a rule set that cannot act would have recommended.
type Shadow struct {
	RuleSet            RuleSetRef `json:"ruleSet"`
	Action             Action     `json:"action"`
	Row                RowID      `json:"row"`
	Reason             string     `json:"reason"`
	RecommendedWorkers *int       `json:"recommendedWorkers"`
	// Agrees is true when action and target are those of the active set.
	Agrees bool `json:"agrees"`
}

// Evaluation is everything that one tick said about one scope: the
// recommendation and what it was computed from. The evaluator publishes a
// slice of them per tick.
type Evaluation struct {
	Scope          Scope          `json:"scope"`
	Recommendation Recommendation `json:"recommendation"`
	Inputs         []Input        `json:"inputs"`
	Shadows        []Shadow       `json:"shadows"`
	SlotMode       SlotMode       `json:"slotMode"`
	Mode           Mode           `json:"mode"`
	Deployment     Deployment     `json:"deployment"`
	Paused         bool           `json:"paused"`
	// PausedSince is when the pause began, nil without one. Unpaused is what would
	// have been decided without it.
	PausedSince *time.Time `json:"pausedSince,omitempty"`
	Unpaused    *Outlook   `json:"unpaused,omitempty"`
	// Next is what the first tick will decide that decides otherwise, if nothing but
	// the time changes; nil if none does, or nobody can tell.
	Next *Forecast `json:"next,omitempty"`
	// MinWorkers and MaxWorkers are the tick's bounds; MaxWorkers is nil when
	// the scope is unbounded.
	MinWorkers int  `json:"minWorkers"`
	MaxWorkers *int `json:"maxWorkers"`
	// TimedBounds are those of them that hold until a time.
	TimedBounds []TimedBound `json:"timedBounds,omitempty"`
	// LimitsChange is what has changed of the limits since the tick before, nil if
	// nothing has or nobody knows.
	LimitsChange *LimitsChange `json:"-"`
	Booting      int           `json:"booting"`
	// Facts are what the decision table saw.
	Facts Facts `json:"facts"`
	// Execution is the scope's latest action as of the tick, nil if there was
	// none: the one that waits, else the one that began last.
	Execution *Execution `json:"execution,omitempty"`
	// Drain is the scope's latest drain as of the tick, nil if there was none: the
	// open one, else the one that was over last.
	Drain *Drain `json:"drain,omitempty"`
	// FirstInQueue is the job that waits first where jobs wait, nil if nobody has
	// asked or it is not known for certain. It is not part of the decision: the
	// evaluator leaves it nil.
	FirstInQueue *QueueHead `json:"firstInQueue,omitempty"`
	// ReportingWorkers is nil when unknown.
	ReportingWorkers         *int      `json:"reportingWorkers"`
	CooldownRemainingSeconds float64   `json:"cooldownRemainingSeconds"`
	Interval                 float64   `json:"intervalSeconds"`
	Tick                     time.Time `json:"tick"`
	// AskedAt is the instant that the rule set's expressions were asked for: the
	// tick, less its query_offset.
	AskedAt time.Time `json:"-"`
	// Provisional is true while the source gives no answer: the tick was
	// decided on unknowns and will be decided again (spec 1.2).
	Provisional bool `json:"provisional"`
	// NewGeneration is true on the tick at which the generation grew, Changed
	// when generation, row or blockers differ from the tick before.
	NewGeneration bool `json:"newGeneration"`
	Changed       bool `json:"changed"`
}

// Outlook is what would be decided if something were not in the way.
type Outlook struct {
	Action Action `json:"action"`
	Row    RowID  `json:"row"`
	Reason string `json:"reason"`
	// RecommendedWorkers is nil when unknown.
	RecommendedWorkers *int `json:"recommendedWorkers"`
}

// Forecast is what will be decided if nothing but the time changes.
type Forecast struct {
	// At is the tick.
	At     time.Time `json:"at"`
	Action Action    `json:"action"`
	Row    RowID     `json:"row"`
	// RecommendedWorkers is nil when unknown.
	RecommendedWorkers *int `json:"recommendedWorkers"`
}

// HistoryRecord is one line of a scope's history: a decision together with
// everything that it was taken from.
type HistoryRecord struct {
	Recommendation Recommendation `json:"recommendation"`
	Inputs         []Input        `json:"inputs"`
	SlotMode       SlotMode       `json:"slotMode"`
	Mode           Mode           `json:"mode"`
	Paused         bool           `json:"paused"`
	MinWorkers     int            `json:"minWorkers"`
	MaxWorkers     *int           `json:"maxWorkers"`
	// TimedBounds are those of the bounds that held until a time.
	TimedBounds []TimedBound `json:"timedBounds,omitempty"`
	Booting     int          `json:"booting"`
	Provisional bool         `json:"provisional"`
	// Facts are what the decision table saw; nil in records of older versions.
	Facts *Facts `json:"facts,omitempty"`
}

// LimitsRecord is one change of a scope's limits in its history.
type LimitsRecord struct {
	Mode       Mode       `json:"mode"`
	Deployment Deployment `json:"deployment"`
	Paused     bool       `json:"paused"`
	MinWorkers int        `json:"minWorkers"`
	MaxWorkers *int       `json:"maxWorkers"`
	At         time.Time  `json:"at"`
}
