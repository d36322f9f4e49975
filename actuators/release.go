package actuators

import (
	"fmt"
	"slices"
)

// ToRelease is the one worker that Release is asked for. It is refused if there
// are none or several, and without an id: who asks again could not be told from
// who asks for another one.
func ToRelease(workers []Worker, f Fence) (Worker, error) {
	switch {
	case len(workers) != 1:
		return Worker{}, fmt.Errorf("%w: one worker is released at a time, not %d", ErrRefused, len(workers))
	case workers[0].Name == "":
		return Worker{}, fmt.Errorf("%w: the worker that is to be released has no name", ErrRefused)
	case f.ActionID == "":
		return Worker{}, fmt.Errorf("%w: releasing worker %s: the request has no id", ErrRefused, workers[0].Name)
	}
	return workers[0], nil
}

// Listed are workers that the configuration names, where the platform does not.
type Listed []string

// Workers are those of the list, in its order.
func (l Listed) Workers() []Worker {
	out := make([]Worker, len(l))
	for i, name := range l {
		out[i].Name = name
	}
	return out
}

// Check reports names that cannot be used.
func (l Listed) Check(fail func(key, format string, args ...any)) {
	for i, name := range l {
		switch {
		case name == "":
			fail("workers", "has an empty name")
		case slices.Contains(l[:i], name):
			fail("workers", "names %q twice", name)
		}
	}
}
