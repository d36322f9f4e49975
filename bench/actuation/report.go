package main

import (
	"fmt"
	"slices"
	"time"
)

// latencies are in no order.
type latencies []time.Duration

// at is a quantile in milliseconds: the least value that at least that part of
// all does not exceed. Without any it is 0.
func (l latencies) at(q float64) float64 {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	i := min(len(sorted)-1, max(0, int(q*float64(len(sorted))+0.999999)-1))
	return float64(sorted[i]) / float64(time.Millisecond)
}

// figure is a value with the unit that names it.
type figure struct {
	value float64
	unit  string
}

// report writes one line of benchmark format.
func report(name string, n int, figures ...figure) {
	fmt.Printf("Benchmark%s\t%d", name, n)
	for _, f := range figures {
		fmt.Printf("\t%.3f %s", f.value, f.unit)
	}
	fmt.Println()
}
