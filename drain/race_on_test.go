//go:build race

package drain_test

// underRace says that the race detector looks on, which makes everything five to
// ten times slower: the faults are played in full without it.
const underRace = true
