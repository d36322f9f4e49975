package evaluator

import "github.com/zeta-scaler/zeta-scaler/scaling"

// Blocker is a set of named blocking conditions.
type Blocker uint16

// The blockers that a tick can have; their names are scaling.Blocker….
const (
	metricsStale Blocker = 1 << iota
	metricsMissing
	slotModeUnknown
	minWorkersBlocker
	maxWorkersBlocker
	cooldownBlocker
	failureBackoffBlocker
	actionInFlightBlocker
	bootingBlocker
	nextRoundBlocker
	pausedBlocker
	workersUnknownBlocker
	applicationModeBlocker
	otherWriterBlocker
)

// block names the blocking conditions of the row (spec 1.9).
func (p *Program) block(d *Decision) {
	if d.Blockers != 0 {
		return
	}
	switch id := table[d.Row].ID; id {
	case scaling.RowPaused:
		d.Blockers = pausedBlocker
	case scaling.RowApplicationMode:
		d.Blockers = applicationModeBlocker
	case scaling.RowWorkersUnknown:
		d.Blockers = workersUnknownBlocker
	case scaling.RowUnsatisfiable:
		d.BlockingSignals = d.guardsActive
	case scaling.RowIdleShortage:
		notIdle := p.hasIn & d.Known &^ d.InTrue
		d.BlockingSignals = p.blocking & (d.OutTrue | d.OutSustained | notIdle)
	case scaling.RowBlindIdle, scaling.RowBlind, scaling.RowIdleStale, scaling.RowIdleUnknown:
		d.Blockers = p.blindness(d)
	case scaling.RowIdleHeld, scaling.RowAboveMaxBlocked:
		d.Blockers = d.busyBlockers()
		if d.booting > 0 {
			d.Blockers |= bootingBlocker
		}
	case scaling.RowIdleAtMin:
		d.Blockers = minWorkersBlocker
	default:
		if d.Action == scaling.ScaleOut {
			d.Blockers = d.busyBlockers()
			if d.otherWriter {
				d.Blockers |= otherWriterBlocker
			}
		}
	}
}

func (d *Decision) busyBlockers() Blocker {
	var b Blocker
	if d.cooldown {
		b |= cooldownBlocker
	}
	if d.backoff {
		b |= failureBackoffBlocker
	}
	if d.inFlight {
		b |= actionInFlightBlocker
	}
	return b
}

// blindness says which inputs cannot be trusted.
func (p *Program) blindness(d *Decision) Blocker {
	var b Blocker
	if d.StaleKnown() && (d.Stale > 0 || d.Coverage < p.RuleSet.MinCoverage) {
		b |= metricsStale
	}
	missing := d.Applies &^ d.Known
	noSaturation := (!d.currentKnown || d.current > 0) && d.Known&p.saturation == 0
	if !d.ReportingKnown || noSaturation || (p.required|p.speaksAgainst)&missing != 0 {
		b |= metricsMissing
	}
	if d.Mode == scaling.UnknownSlots {
		b |= slotModeUnknown
	}
	return b
}
