package doctor

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

const (
	linkService = "service"
	linkState   = "state"
)

// service asks the running service for what it says of itself.
func (c *chain) service(ctx context.Context) {
	if c.Service == "" {
		c.skip(linkService, "", "no running service was named")
		return
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	shown := shownURL(c.Service)
	client := &api.Client{BaseURL: c.Service, Token: c.Token, Timeout: c.Timeout}
	status, err := client.Status(ctx, "")
	if err != nil {
		text := oneLine(err)
		switch cause := outgoing.CauseOf(err); {
		case cause == outgoing.NobodyListens:
			c.doubt(linkService, shown, "start it with zeta-scaler serve; the links of a service that does not run are not examined", "it does not run here: %s", text)
		case strings.Contains(text, " 401 "):
			c.running = true
			c.bad(linkService, shown, "name a file with one of the tokens of web.bearer_tokens_file: --token-file", "%s", text)
		case strings.Contains(text, " 421 "):
			c.running = true
			c.bad(linkService, shown, "add the name to web.allowed_hosts, or send a credential", "%s", text)
		default:
			c.bad(linkService, shown, c.advice(err, "--server", "--token-file", "is something else listening there? --server"), "%s", text)
		}
		return
	}
	c.running = true
	invalid := []string{}
	for i := range status.Scopes {
		if r := &status.Scopes[i].Recommendation; !r.MetricsValid {
			invalid = append(invalid, status.Scopes[i].Scope)
		}
	}
	switch {
	case status.LeaderError != "":
		c.bad(linkService, shown, "docs/high-availability.md, Reads on any replica", "%s", status.LeaderError)
	case len(status.Scopes) == 0:
		c.bad(linkService, shown, "see the links zeta, prometheus and series: a scope appears with its first sample of workers.current", "it runs and has no scope")
	case len(invalid) > 0:
		c.bad(linkService, shown, "zeta-scaler explain "+scaling.Argument(invalid[0])+" says which signal is unknown; right after a start, an increase waits for its second scrape", "metrics of %s are not valid", listed(invalid))
	default:
		c.ok(linkService, shown, "it runs and decides about %s", scaling.Counted(len(status.Scopes), "scope"))
	}
}

// stateFile is a state that one process keeps in a file.
type stateFile interface {
	File() string
	// Look says why the file could not be opened, without opening it.
	Look() error
}

// store looks whether the state can be kept.
func (c *chain) store(ctx context.Context) {
	kind, opener := c.cfg.State.Type, c.cfg.Store()
	if opener == nil {
		c.bad(linkState, kind, "set state.type", "no store is configured")
		return
	}
	if !opener.Durable() {
		c.doubt(linkState, kind, "set state.type: file to keep pauses, limits and history over a restart", "it forgets everything at a restart")
		return
	}
	if f, ok := opener.(stateFile); ok {
		// Opening it would take it from the service; that it can be written was
		// looked at with the configuration, as whoever runs doctor.
		if err := f.Look(); err != nil {
			c.bad(linkState, f.File(), "docs/state.md says what is lost with it, and how a copy is restored", "%s", oneLine(err))
			return
		}
		c.ok(linkState, f.File(), "can be written by this user")
		return
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	s, err := opener.Open(ctx, c.logger)
	if err != nil {
		c.bad(linkState, kind, stateHint(kind), "%s", oneLine(err))
		return
	}
	err = s.Check(ctx)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		c.bad(linkState, kind, "the log of the service says the same at every tick", "%s", oneLine(err))
		return
	}
	c.ok(linkState, kind, "can be read")
}

// stateHint says what to try where a store cannot be opened.
func stateHint(kind string) string {
	switch kind {
	case "postgres":
		return "try it as this user: psql 'host=HOST dbname=DATABASE user=USER sslmode=verify-full' -c 'select 1', with state.hosts, database, user and ca_file; docs/high-availability.md has the errors"
	case "kubernetes":
		return "kubectl auth can-i update configmaps -n NAMESPACE --as=system:serviceaccount:NAMESPACE:zeta-scaler; outside of a cluster set state.kubeconfig"
	default:
		return "mend the section state"
	}
}

const webhookPath = "/webhook/alertmanager"

// emptyNotification is one of Alertmanager's without any alert.
const emptyNotification = `{"version":"4","groupKey":"doctor","status":"firing","receiver":"doctor","groupLabels":{},"commonLabels":{},"commonAnnotations":{},"externalURL":"","alerts":[]}`

// accepted sends an empty notification with Alertmanager's token.
func (c *chain) accepted(ctx context.Context) {
	if !c.running {
		c.skip(linkCallback, "token", "the service does not run, so nobody can say whether a token is accepted")
		return
	}
	if c.CallbackToken == "" {
		c.doubt(linkCallback, "token", "name the file that Alertmanager reads (credentials_file of the receiver): --callback-token-file", "whether Alertmanager's token is accepted was not tried")
		return
	}
	client, err := outgoing.New(outgoing.Options{Name: "doctor", Config: config.HTTPClientConfig{}})
	if err != nil {
		c.bad(linkCallback, "token", "", "%v", err)
		return
	}
	defer client.CloseIdleConnections()
	ctx, cancel := c.within(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.Service, "/")+webhookPath, bytes.NewBufferString(emptyNotification))
	if err != nil {
		c.bad(linkCallback, "token", "mend --server", "%v", err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+c.CallbackToken)
	req.Header.Set("Content-Type", "application/json")
	reply, err := client.Do(req)
	if err != nil {
		c.bad(linkCallback, "token", "", "%s", oneLine(err))
		return
	}
	defer func() { _ = reply.Body.Close() }()
	_, _ = io.Copy(io.Discard, reply.Body)
	switch reply.StatusCode {
	case http.StatusOK:
		c.ok(linkCallback, "token", "the webhook accepts Alertmanager's token")
	case http.StatusUnauthorized, http.StatusForbidden:
		c.bad(linkCallback, "token", "put the same token into web.bearer_tokens_file and into the receiver's credentials_file, without a newline too many",
			"the webhook refuses Alertmanager's token: %s", outgoing.StatusText(reply.StatusCode))
	default:
		c.doubt(linkCallback, "token", "the body of the answer says why: the service's log", "the webhook answered %s", outgoing.StatusText(reply.StatusCode))
	}
}
