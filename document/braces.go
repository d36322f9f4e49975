package document

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cutByCommas counts the pieces that commas of an expression without quotes
// have cut from a value in braces: {expr: max by (a, b) (x)} is the key expr and
// a key "b) (x)" without a value.
func cutByCommas(n *yaml.Node, i int, fields []Field) (pieces int) {
	value := n.Content[i+1]
	if n.Style&yaml.FlowStyle == 0 || value.Kind != yaml.ScalarNode || value.Style != 0 {
		return 0
	}
	open := unclosed(value.Value)
	for j := i + 2; open > 0 && j+1 < len(n.Content); j += 2 {
		key, empty := n.Content[j], n.Content[j+1]
		if key.Kind == yaml.ScalarNode && slices.Contains(Names(fields), key.Value) || key.Kind != yaml.ScalarNode || empty.Kind != yaml.ScalarNode || empty.Value != "" {
			break
		}
		open += unclosed(key.Value)
		pieces++
	}
	return pieces
}

// unclosed counts the parentheses that a piece of an expression leaves open.
func unclosed(s string) int { return strings.Count(s, "(") - strings.Count(s, ")") }

// cutValue says once what happened to a value, instead of what follows from it.
func (d *Decoder) cutValue(n *yaml.Node, i, pieces int, p Path) {
	if d.mayBeSecret(n.Content[i+1], p) {
		d.Fail(n.Content[i+1], CheckYAML, "quote it", "a comma ends a value within braces: that of %s is cut here", n.Content[i].Value)
		return
	}
	texts := []string{n.Content[i+1].Value}
	for j := i + 2; j <= i+2*pieces; j += 2 {
		texts = append(texts, n.Content[j].Value)
	}
	d.Fail(n.Content[i+1], CheckYAML, "quote it: "+n.Content[i].Value+": "+quoted(strings.Join(texts, ", ")),
		"a comma ends a value within braces: the value of %s is only %q here", n.Content[i].Value, n.Content[i+1].Value)
}

// quoted is a text as a YAML scalar in quotes.
func quoted(s string) string {
	if strings.Contains(s, "'") {
		return strconv.Quote(s)
	}
	return "'" + s + "'"
}
