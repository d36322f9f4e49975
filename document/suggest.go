package document

import (
	"slices"
	"strings"
)

// Nearest returns the choice that a misspelt word most likely means, or "".
func Nearest(word string, choices []string) string {
	if near := Near(word, choices, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Near returns at most n choices that a misspelt word may mean, the likeliest
// first, and of those that are as likely the first in the list.
func Near(word string, choices []string, n int) []string {
	type candidate struct {
		choice   string
		distance int
	}
	var near []candidate
	for _, c := range choices {
		most := len(word)/3 + 2
		if d := len(c) - len(word); d >= most || -d >= most {
			continue
		}
		if d := Distance(strings.ToLower(word), strings.ToLower(c)); d < most {
			near = append(near, candidate{c, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var out []string
	for _, c := range near[:min(n, len(near))] {
		out = append(out, c.choice)
	}
	return out
}

// Meant returns at most n choices that a text is a part of, and after them those that
// it may be a slip of, as Near has it.
func Meant(text string, choices []string, n int) []string {
	var out []string
	for _, c := range choices {
		if text != "" && len(out) < n && strings.Contains(strings.ToLower(c), strings.ToLower(text)) {
			out = append(out, c)
		}
	}
	for _, c := range Near(text, choices, n) {
		if len(out) < n && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// DidYouMean is Nearest as a hint; without a near choice it lists all.
func DidYouMean(word string, choices []string) string {
	if n := Nearest(word, choices); n != "" {
		return "did you mean " + n + "?"
	}
	if len(choices) == 0 {
		return ""
	}
	return "known here: " + strings.Join(choices, ", ")
}

// maxWord bounds what Distance compares: longer words are no typing errors.
const maxWord = 100

// Distance is the number of insertions, deletions, replacements and swaps of
// neighbours between two words.
func Distance(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return 2 * maxWord
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
