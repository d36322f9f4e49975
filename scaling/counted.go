package scaling

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// count is a number of things.
type count interface {
	~int | ~int32 | ~int64 | ~uint64
}

// Names are the values of an enumeration as plain text.
func Names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// Counted is a number of things in words: "1 rule set", "2 rule sets".
func Counted[N count](n N, thing string) string {
	return fmt.Sprintf("%d %s", n, Plural(n, thing, thing+"s"))
}

// Plural is the word for n things: for one of them, or for any other number.
func Plural[N count](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// At is an instant in words: to the second, in UTC.
func At(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Quantity is a number, as somebody has written it, beside its unit: "1 worker",
// "2 workers". Ratios and what has no unit are the number alone.
func Quantity(number, unit string) string {
	switch {
	case unit == "" || unit == "ratio":
		return number
	case number == "1" && slices.Contains(countedUnits(), unit):
		unit = strings.TrimSuffix(unit, "s")
	}
	return number + " " + unit
}

// countedUnits are the units that have a singular. Rule sets may have others, such
// as "ms", of which nobody knows whether they are plurals.
func countedUnits() []string {
	return []string{"jobs", "rejections", "requests", "seconds", UnitSlots, "tasks", "workers"}
}
