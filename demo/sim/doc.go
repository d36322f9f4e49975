// Package sim is a Zeta cluster that exists only in memory: a master, workers
// with slots, a job queue, jobs that come and go, and the load that they
// cause. It serves the REST replies and the telemetry text that real Zeta
// 2.3.13 and 2.3.8 masters serve, so that everything above it is the real
// program.
//
// Time moves only when Advance is called and chance comes from a seed, so two
// clusters that are told the same do the same.
package sim
