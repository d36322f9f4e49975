package chart

import (
	"html/template"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePageOfAReport(t *testing.T) {
	var b strings.Builder
	text := `{{define "title"}}{{.}}{{end}}{{define "body"}}<p>{{shout .}}</p>{{end}}`
	require.NoError(t, WritePage(&b, text, template.FuncMap{"shout": strings.ToUpper}, "a < b"))
	require.Contains(t, b.String(), "<title>a &lt; b</title>")
	require.Contains(t, b.String(), "<body>\n<p>A &lt; B</p>\n</body>")
	require.Contains(t, b.String(), "default-src 'none'")
	require.Contains(t, b.String(), Stylesheet[:40])

	b.Reset()
	require.NoError(t, WritePage(&b, text+`{{define "style"}}p { margin: 0; }{{end}}`, template.FuncMap{"shout": strings.ToUpper}, ""))
	require.Contains(t, b.String(), "p { margin: 0; }</style>")
	require.ErrorContains(t, WritePage(&b, "{{", nil, nil), "reading the template of a report")
}

func TestTheKeyOfAPicture(t *testing.T) {
	p := Picture{Legend: []LegendEntry{{"first", `a "<b>"`}}}
	require.Equal(t, `<ul class="legend"><li><svg viewBox="0 0 28 16" aria-hidden="true"><line class="first" x1="0" x2="28" y1="8" y2="8"/></svg>a &#34;&lt;b&gt;&#34;</li></ul>`, string(p.Key()))
}
