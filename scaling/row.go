package scaling

// RowID is the stable name of a row of the decision table (spec 1.7).
type RowID string

// The rows in the order in which they are tried.
const (
	RowPaused          RowID = "paused"
	RowApplicationMode RowID = "application_mode"
	RowWorkersUnknown  RowID = "workers_unknown"
	RowBelowMin        RowID = "below_min"
	RowAboveMax        RowID = "above_max"
	RowAboveMaxBlocked RowID = "above_max_blocked"
	RowWake            RowID = "wake"
	RowShortageBlind   RowID = "shortage_blind"
	RowBlindIdle       RowID = "blind_idle"
	RowBlind           RowID = "blind"
	RowShortage        RowID = "shortage"
	RowSaturatedTight  RowID = "saturated_tight"
	RowSaturated       RowID = "saturated"
	RowTightWithDemand RowID = "tight_with_demand"
	RowUnsatisfiable   RowID = "unsatisfiable"
	RowTightAlone      RowID = "tight_alone"
	RowIdleShortage    RowID = "idle_shortage"
	RowIdleStale       RowID = "idle_stale"
	RowIdleUnknown     RowID = "idle_unknown"
	RowIdleAtMin       RowID = "idle_at_min"
	RowIdleHeld        RowID = "idle_held"
	RowIdle            RowID = "idle"
	RowSettling        RowID = "settling"
	RowSteady          RowID = "steady"
)

// Row describes one row of the decision table to a reader.
type Row struct {
	ID     RowID  `json:"id"`
	When   string `json:"when"`
	Action Action `json:"action"`
	Target string `json:"target"`
}
