package zeta

import (
	"bytes"
	"html/template"
	"net/http"
	"time"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// serveLanding shows a person what is here.
func (e *Exporter) serveLanding(w http.ResponseWriter, _ *http.Request) {
	page := struct {
		Clusters []landingCluster
		Allowed  []string
	}{e.landingClusters(), e.prober.config.AllowedTargets}
	var body bytes.Buffer
	if err := landingTemplate().Execute(&body, page); err != nil {
		handler.Refuse(w, http.StatusInternalServerError, "the page cannot be made")
		e.logger.Error("landing page failed", "err", err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(body.Bytes())
}

// landingCluster is a line of the page: whom the exporter asks, and how it
// answers.
type landingCluster struct {
	contact.Status
	Nodes               []string
	Words               string
	SinceText, LastText string
}

func (e *Exporter) landingClusters() []landingCluster {
	out := make([]landingCluster, len(e.clusters))
	for i, status := range e.Contacts() {
		c := landingCluster{Status: status, Words: "not asked yet", SinceText: "–", LastText: "never"}
		for _, u := range e.clusters[i].URLs {
			c.Nodes = append(c.Nodes, redacted(u))
		}
		switch status.State {
		case contact.Up:
			c.Words = "answers"
		case contact.Down:
			c.Words = "gives no answer"
		}
		if status.Since != nil {
			c.SinceText = status.Since.Format(time.RFC3339)
		}
		if status.LastAnswer != nil {
			c.LastText = status.LastAnswer.Format(time.RFC3339)
		}
		out[i] = c
	}
	return out
}

func landingTemplate() *template.Template {
	return template.Must(template.New("landing").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>zeta-scaler exporter</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid #8886; vertical-align: top }
td { overflow-wrap: anywhere }
.down { color: light-dark(#a40e26, #ff9aa2); font-weight: 600 }
input, button { font: inherit; min-height: 2.5rem; max-width: 100% }
input { width: 22rem }
::placeholder { color: inherit; opacity: .75 }
@media (max-width: 48rem) {
  li a { display: inline-block; padding: .5rem 0 }
  tr:first-child { display: none }
  table, tbody, tr, td { display: block }
  td { border: 0; padding: .1rem 0 }
  td::before { content: attr(data-label) " "; opacity: .8 }
  tr { border-bottom: 1px solid #8886; padding: .5rem 0 }
}
</style>
</head>
<body>
<h1>zeta-scaler exporter</h1>
<p>Turns the REST API of SeaTunnel Zeta into Prometheus metrics.</p>
<ul>
<li><a href="/metrics">/metrics</a>: the configured clusters and this process</li>
<li><a href="/-/healthy">/-/healthy</a></li>
</ul>
<h2>Clusters</h2>
{{if .Clusters}}<table>
<tr><th scope="col">cluster</th><th scope="col">version</th><th scope="col">state</th><th scope="col">since</th><th scope="col">last answer</th><th scope="col">nodes</th></tr>
{{range .Clusters}}<tr><td data-label="cluster">{{.Name}}</td><td data-label="version">{{with .Version}}{{.}}{{else}}unknown{{end}}</td><td data-label="state" class="{{.State}}">{{.Words}}{{with .Error}}: {{.}}{{end}}</td><td data-label="since">{{.SinceText}}</td><td data-label="last answer">{{.LastText}}</td><td data-label="nodes">{{range .Nodes}}{{.}}<br>{{end}}</td></tr>
{{end}}</table>
<p>They are asked when somebody scrapes <a href="/metrics">/metrics</a>.</p>{{else}}<p>None is configured.</p>{{end}}
<h2>Probe</h2>
<form action="/probe" method="get">
<p><label>Target<br><input name="target" type="url" required placeholder="http://master:8080"></label></p>
<p><label>Cluster<br><input name="cluster" required placeholder="the label of its metrics"></label></p>
<p><button>Probe</button></p>
</form>
{{if .Allowed}}<p>Allowed targets:</p><ul>{{range .Allowed}}<li>{{.}}</li>{{end}}</ul>
{{else}}<p>Any target is allowed; no credentials are sent.</p>{{end}}
</body>
</html>
`))
}
