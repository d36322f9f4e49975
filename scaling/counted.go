package scaling

import "fmt"

// Counted is a number of things in words: "1 rule set", "2 rule sets".
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
