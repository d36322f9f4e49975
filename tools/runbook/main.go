// Command runbook writes docs/runbook.md as a part of the service's page: HTML
// without anything that runs, whose links lead to the page itself or to the
// project's documentation.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// documentation is where the pages beside the runbook are.
const documentation = "https://github.com/zeta-scaler/zeta-scaler/blob/main/docs/"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: runbook SOURCE.md DESTINATION")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "runbook:", err)
		os.Exit(1)
	}
}

func write(from, to string) error {
	source, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	doc := md.Parser().Parse(text.NewReader(source))
	var sections []string
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if to := string(n.Destination); entering && !strings.HasPrefix(to, "#") && !strings.Contains(to, "://") {
				n.Destination = []byte(documentation + to)
			}
		case *tables.TableCell:
			if n.Parent().Kind() == tables.KindTableHeader {
				n.SetAttributeString("scope", []byte("col"))
			}
		case *ast.Heading:
			// The page has a heading of its own.
			if id, ok := n.AttributeString("id"); ok && entering && n.Level == 2 {
				sections = append(sections, fmt.Sprintf("<a href=\"#%s\">%s</a>", id, util.EscapeHTML(n.Lines().Value(source))))
			}
			if entering {
				n.Level++
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "<!-- Made from docs/runbook.md by go generate ./api. sha256:%x -->\n", sha256.Sum256(source))
	fmt.Fprintf(&out, "<nav class=\"sections\" aria-label=\"Alerts\">%s</nav>\n", strings.Join(sections, " "))
	if err := md.Renderer().Render(&out, source, doc); err != nil {
		return err
	}
	// A table may be wider than the page, and then has to be reachable.
	html := strings.NewReplacer(
		"<table>", `<div class="wide" tabindex="0" role="region" aria-label="Commands"><table><caption>Commands</caption>`,
		"</table>", "</table></div>",
	).Replace(out.String())
	return os.WriteFile(to, []byte(html), 0o644)
}
