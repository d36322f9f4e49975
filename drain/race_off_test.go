//go:build !race

package drain_test

// underRace says that the race detector looks on.
const underRace = false
