// Package demo runs zeta-scaler whole in one process without any other
// program: a simulated Zeta cluster, the exporter's collector, a TSDB, PromQL
// and the evaluator, on a clock that the demo drives itself.
//
// The clock is the engine of it. When the evaluator's loop waits for its next
// tick, the clock lets the cluster live until then: what the scenario has in
// store happens, and every few virtual seconds both targets are scraped into
// the TSDB. Everything happens in the order of virtual time and in one
// goroutine, so that a run with a given seed always decides the same.
package demo
