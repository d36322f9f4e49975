package rules

// What other readers of YAML files need, so that their errors look like those
// of rule sets.

// Snippet is the line of a position with a caret below its column, as in
// Diagnostic.Snippet; empty when the content has no such line.
func Snippet(content []byte, p Position) string { return newText(content).snippet(p) }

// DidYouMean is a hint: the choice that a misspelt word most likely means, or
// all of them where none is near.
func DidYouMean(word string, choices []string) string { return didYouMean(word, choices) }
