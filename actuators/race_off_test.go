//go:build !race

package actuators_test

// underRace says that the race detector looks on.
const underRace = false
