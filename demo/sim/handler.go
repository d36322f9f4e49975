package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The content types that real Zeta sends.
const (
	jsonV2  = "application/json;charset=utf-8"
	jsonV1  = "application/json"
	textV2  = "text/plain;charset=utf-8"
	textV1  = "text/plain"
	htmlV2  = "text/html;charset=iso-8859-1"
	prefix  = "/hazelcast/rest"
	v1Maps  = prefix + "/maps"
	v1Texts = prefix + "/instance"
)

// reply is one answer of the master.
type reply struct {
	status      int
	contentType string
	body        []byte
	// date is when it was sent, in the server's clock; zero for 2.3.8, which
	// does not say.
	date time.Time
}

func (r *reply) header() http.Header {
	h := http.Header{"Content-Length": {strconv.Itoa(len(r.body))}}
	if r.contentType != "" {
		h.Set("Content-Type", r.contentType)
	}
	if !r.date.IsZero() {
		h.Set("Date", r.date.UTC().Format(http.TimeFormat))
		h.Set("Server", "Jetty(9.4.56.v20240826)")
	}
	return h
}

// Handler serves the master's REST API: v2 (port 8080 of a real master) for
// 2.3.13, v1 (its port 5801) for 2.3.8. What a hung worker blocks in a real
// master blocks here until the client gives up.
func (c *Cluster) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rep, hangs := c.answer(r.Method, r.URL)
		if hangs {
			<-r.Context().Done()
			return
		}
		maps.Copy(w.Header(), rep.header())
		w.WriteHeader(rep.status)
		_, _ = w.Write(rep.body) // the client is gone: nobody to tell
	})
}

// answer computes the reply to one request, or says that it would never come.
func (c *Cluster) answer(method string, url *url.URL) (rep reply, hangs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opt.Version == V238 {
		return c.answerV1(method, url.Path)
	}
	rep, hangs = c.answerV2(method, url)
	rep.date = c.now
	return rep, hangs
}

func (c *Cluster) answerV2(method string, url *url.URL) (reply, bool) {
	path := url.Path
	if method != http.MethodGet {
		return jettyError(http.StatusMethodNotAllowed, path), false
	}
	switch {
	case path == "/overview":
		return jsonReply(jsonV2, c.overviewV2()), false
	case path == "/pending-jobs":
		limit, _ := strconv.Atoi(url.Query().Get("limit")) // 0 is no limit, as in Zeta
		return gsonReply(jsonV2, c.pendingJobs(limit)), false
	case path == "/running-jobs":
		return jsonReply(jsonV2, c.runningJobsV2()), false
	case path == "/finished-jobs" || strings.HasPrefix(path, "/finished-jobs/"):
		return c.finishedJobsV2(lastPart(path, "/finished-jobs")), false
	case path == "/system-monitoring-information":
		return jsonReply(jsonV2, c.monitoring()), c.hung()
	case path == "/metrics" || path == "/openmetrics":
		return ok(textV2, c.telemetry()), false
	default:
		return jettyError(http.StatusNotFound, path), false
	}
}

// answerV1 also loses its telemetry to a hung worker, as recorded; 2.3.8
// answers 400 with no body to everything that it does not know.
func (c *Cluster) answerV1(method, path string) (reply, bool) {
	if method != http.MethodGet {
		return reply{status: http.StatusBadRequest}, false
	}
	switch {
	case path == v1Maps+"/overview":
		return jsonReply(jsonV1, c.overviewV1()), false
	case path == v1Maps+"/running-jobs":
		return jsonReply(jsonV1, c.runningJobsV1()), false
	case path == v1Maps+"/finished-jobs" || strings.HasPrefix(path, v1Maps+"/finished-jobs/"):
		return jsonReply(jsonV1, c.finishedJobsV1(lastPart(path, v1Maps+"/finished-jobs"))), false
	case path == v1Maps+"/system-monitoring-information":
		return jsonReply(jsonV1, c.monitoring()), c.hung()
	case path == v1Texts+"/metrics" || path == v1Texts+"/openmetrics":
		return ok(textV1, c.telemetry()), c.hung()
	default:
		return reply{status: http.StatusBadRequest}, false
	}
}

// MetricsPath is where this version serves its telemetry.
func (c *Cluster) MetricsPath() string {
	if c.opt.Version == V238 {
		return v1Texts + "/metrics"
	}
	return "/metrics"
}

func lastPart(path, base string) string { return strings.Trim(strings.TrimPrefix(path, base), "/") }

func ok(contentType string, body []byte) reply {
	return reply{status: http.StatusOK, contentType: contentType, body: body}
}

// jsonReply writes v as the server does, without escaping HTML.
func jsonReply(contentType string, v any) reply {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // a load that is not a number
		return reply{status: http.StatusInternalServerError, contentType: textV1, body: []byte(err.Error())}
	}
	return ok(contentType, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// gsonReply also writes = as an escape, as Gson does in /pending-jobs.
func gsonReply(contentType string, v any) reply {
	rep := jsonReply(contentType, v)
	rep.body = bytes.ReplaceAll(rep.body, []byte("="), []byte(`\u003d`))
	return rep
}

// jettyError is the page of Zeta's web server.
func jettyError(status int, path string) reply {
	text := http.StatusText(status)
	return reply{status: status, contentType: htmlV2, body: fmt.Appendf(nil, `<html>
<head>
<meta http-equiv="Content-Type" content="text/html;charset=ISO-8859-1"/>
<title>Error %d %s</title>
</head>
<body><h2>HTTP ERROR %d %s</h2>
<table>
<tr><th>URI:</th><td>%s</td></tr>
<tr><th>STATUS:</th><td>%d</td></tr>
<tr><th>MESSAGE:</th><td>%s</td></tr>
<tr><th>SERVLET:</th><td>default</td></tr>
</table>
<hr/><a href="https://jetty.org/">Powered by Jetty:// 9.4.56.v20240826</a><hr/>

</body>
</html>
`, status, text, status, text, path, status, text)}
}
