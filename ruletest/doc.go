// Package ruletest runs tests of rule sets: series in Prometheus' notation go
// into a temporary TSDB, the real evaluator decides tick by tick, and the
// decisions are compared with what the test expects (spec 2, "Rule tests").
package ruletest
