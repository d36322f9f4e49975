package api

import (
	"fmt"
	"strconv"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func bounds(ev *scaling.Evaluation) string {
	if ev.MaxWorkers == nil {
		return fmt.Sprintf("%d or more", ev.MinWorkers)
	}
	return fmt.Sprintf("%d to %d", ev.MinWorkers, *ev.MaxWorkers)
}

func count(n *int) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(*n)
}

// number shows four digits, which is more than any threshold needs.
func number(f float64) string { return strconv.FormatFloat(f, 'g', max(4, digits(f)), 64) }

// digits is how many digits the whole part has, so that 12345 jobs do not
// become 1.234e+04.
func digits(f float64) int {
	n := 0
	for f = max(f, -f); f >= 1 && n < 15; f /= 10 {
		n++
	}
	return n
}

// span shows seconds as people say them: 45s, 5m, 1h30m.
func span(seconds float64) string { return scaling.Span(time.Duration(seconds) * time.Second) }
