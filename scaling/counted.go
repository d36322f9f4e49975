package scaling

import "fmt"

// count is a number of things.
type count interface {
	~int | ~int32 | ~int64 | ~uint64
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
