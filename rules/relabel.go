package rules

import (
	"regexp"
	"regexp/syntax"

	"github.com/prometheus/prometheus/promql/parser"
)

// carried are the labels whose values a label_replace or label_join carries
// over into its target so that different ones stay different; none if that is
// not certain. (Labels that a separator joins are taken for it: that is the
// habit.)
func carried(n *parser.Call) labelSet {
	texts := make([]string, len(n.Args))
	for i := range n.Args[1:] {
		l, ok := n.Args[i+1].(*parser.StringLiteral)
		if !ok {
			return nil
		}
		texts[i+1] = l.Val
	}
	switch {
	case n.Func.Name == "label_join" && len(texts) > 3 && (texts[2] != "" || len(texts) == 4):
		return setOf(texts[3:]...)
	case n.Func.Name == "label_replace" && len(texts) == 5 && keepsGroup(texts[2]) && oneGroup(texts[4]):
		return setOf(texts[3])
	}
	return nil
}

// wholeGroup is a replacement that has the first group of the pattern, and
// otherwise only text.
var wholeGroup = regexp.MustCompile(`^[^$]*(\$1([^$\w][^$]*)?|\$\{1\}[^$]*)$`)

func keepsGroup(replacement string) bool { return wholeGroup.MatchString(replacement) }

// oneGroup reports whether a pattern is one group with nothing but text around
// it, so that what matches is known from the group.
func oneGroup(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	groups := 0
	for _, p := range parts {
		switch {
		case p.Op == syntax.OpCapture:
			groups++
		case p.Op != syntax.OpLiteral || p.Flags&syntax.FoldCase != 0:
			return false
		}
	}
	return groups == 1
}
