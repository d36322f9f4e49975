// Package evaluator turns samples into decisions: windows over conditions, the
// decision table, step policies, and the loop that evaluates every rule set at
// its ticks, restores its windows from the source and publishes one
// recommendation per scope (spec 1).
package evaluator

import (
	"context"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// Source answers the two questions that a rule set asks. An error that carries
// source.ErrNoAnswer makes the tick provisional; any other error is an answer.
type Source interface {
	Instant(ctx context.Context, expr string, at time.Time) (source.Vector, error)
	Range(ctx context.Context, expr string, w source.Window) (source.Matrix, error)
}

// Clock is the loop's only notion of time, so that tests and the demo can
// drive it.
type Clock interface {
	Now() time.Time
	// WaitUntil returns nil once Now is not before t, or ctx's error.
	WaitUntil(ctx context.Context, t time.Time) error
}

// Publisher is told every tick's outcome, after it was stored.
type Publisher interface {
	// Publish gets evaluations of one tick of one rule set, and the scopes that
	// are gone since the last one. A tick of many scopes comes in several calls.
	// A publisher may keep what it got, but must not change it.
	Publish(ctx context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope)
}

// ScopeConfig is one listed scope (spec 3.5).
type ScopeConfig struct {
	// Match holds the value of each scope_by label; empty for the single scope.
	Match      map[string]string
	RuleSet    string
	Shadows    []string
	Bounds     *scaling.Bounds
	Mode       scaling.Mode
	Deployment scaling.Deployment
}

// Config is what can be reloaded: the rule sets and which evaluates whom.
type Config struct {
	RuleSets []*rules.RuleSet
	Scopes   []ScopeConfig
	// Discover makes scopes that no entry lists appear by themselves, evaluated by
	// DefaultRuleSet and DefaultShadows, never more than advisory.
	Discover       bool
	DefaultRuleSet string
	DefaultShadows []string
	// Clusters are the names of the clusters that are watched. Where scopes are
	// told apart by the label cluster alone, each is a scope from the first tick
	// on, if Discover is set, and is never forgotten.
	Clusters []string
	// ForgetAfter is how long a discovered scope is kept after its last sample.
	ForgetAfter time.Duration
}
