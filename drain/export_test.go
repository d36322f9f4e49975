package drain

// Sequential has a drainer make one request after the other, in one goroutine, so
// that a run can be replayed and ended anywhere.
func Sequential(x *Drainer) { x.parallel = 1 }
