package yarn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// kind is what is known after a request that has failed.
type kind int

const (
	// ended: our own time was over before anything was sent.
	ended kind = iota
	// unreached: nothing was sent. standby: who got it is not active and did
	// nothing.
	unreached
	standby
	// lost: it was sent, and whether it was carried out is not known.
	lost
	// odd: a reply that is none of a resource manager's.
	odd
	// denied: it was not done, and asking again changes nothing.
	denied
	// passing: it was not done, and nothing was stored.
	passing
	// stored: it was not carried out, and may have been written to the service's
	// definition all the same, which takes effect at the next start.
	stored
	// gone: there is no such service.
	gone
)

// noActive is said by a manager while none is active, with status 200.
const noActive = "There is no active RM"

// failure is a request that has failed: which, who answered what, and what to do.
type failure struct {
	call    call
	manager *url.URL
	status  int
	kind    kind
	// text is what was said, remedy what to do about it.
	text, remedy string
	// elsewhere is where a redirect leads.
	elsewhere *url.URL
	cause     error
	others    []*failure
}

// Error is such as "GET /app/v1/services/zeta at rm1:8088 answered 404 Not Found:
// Service zeta not found; create the service or correct service".
func (f *failure) Error() string {
	var b strings.Builder
	b.WriteString(f.call.String())
	f.describe(&b)
	for _, o := range f.others {
		b.WriteString(", and")
		o.describe(&b)
	}
	return b.String()
}

func (f *failure) describe(b *strings.Builder) {
	fmt.Fprintf(b, " at %s", f.manager.Host)
	if f.status != 0 {
		fmt.Fprintf(b, " answered %s", outgoing.StatusText(f.status))
	}
	if f.cause != nil {
		fmt.Fprintf(b, ": %s", f.cause)
	}
	if f.text != "" {
		fmt.Fprintf(b, ": %s", f.text)
	}
	if f.remedy != "" {
		fmt.Fprintf(b, "; %s", f.remedy)
	}
}

// Unwrap is the error of our own context, if that was the reason.
func (f *failure) Unwrap() error { return f.cause }

// joined is one failure made of those of several managers. The last decides what
// is known, unless one of them may have acted.
func joined(said []*failure) *failure {
	if len(said) == 1 {
		return said[0]
	}
	out := *said[len(said)-1]
	out.others = said[:len(said)-1]
	return &out
}

// verdict is an error as the executor knows it. Of a write, lost and stored are
// for the caller to find out about first.
func (f *failure) verdict() error {
	switch f.kind {
	case denied, gone:
		return fmt.Errorf("%w: %w", actuators.ErrRefused, f)
	default:
		return f
	}
}

// failure is a reply that is not what was asked for.
func (r *reply) failure(q call) *failure {
	f := &failure{call: q, manager: r.manager, status: r.status, text: r.text}
	f.kind, f.remedy = meaning(r.status, r.text)
	return f
}

// meanings are the replies that are known, by status (0: any) and a part of what
// they say. The first that fits counts.
var meanings = []struct {
	status int
	says   string
	kind   kind
	remedy string
}{
	{http.StatusNoContent, "", denied, "nothing was done: this Hadoop does not know the request; decommissioning by name needs 3.1.3 or later"},
	{http.StatusUnauthorized, "", denied, "say who we are: user, kerberos or http_config"},
	{http.StatusForbidden, "", denied, "let this user modify the application (yarn.admin.acl, the queue's acl_administer_queue, or the service's owner)"},
	{0, "Null user", denied, "set user, or kerberos"},
	{http.StatusNotFound, "Service ", gone, "start the service, or correct service"},
	{0, "does not exist in app definition", denied, "correct component"},
	{0, "do not exist in app definition", denied, "correct component"},
	{0, " does not exist !", denied, "correct component"},
	{0, ".json", gone, "create the service, or correct service"},
	{http.StatusBadRequest, "Invalid number of containers", denied, "report this"},
	{http.StatusBadRequest, "No container count", denied, "report this"},
	{http.StatusBadRequest, "does not match that in the URI", denied, "correct component"},
	{http.StatusBadRequest, "Invalid component instance", denied, "name an instance of the component"},
	{0, "can only be invoked when service is running", stored, "wait until the service runs, or start it: what was asked for is kept and takes effect then"},
	{0, "can not be invoked when service is upgrading", stored, "finish the upgrade"},
	{0, "No content to map", stored, "somebody else writes the service's definition at the same time: one writer only"},
	{http.StatusNotFound, "port out of range", stored, "the service's ApplicationMaster has just ended: wait for the next attempt"},
	{0, "failed on connection exception", stored, "the service's ApplicationMaster has just ended: wait for the next attempt"},
	{http.StatusNotFound, "Exception", denied, "the services API does not understand the request: another version of Hadoop?"},
	{http.StatusNotFound, "", denied, "the services API is not there: yarn.webapp.api-service.enable in the ResourceManager, or services_path"},
	{http.StatusMethodNotAllowed, "", denied, "let PUT through: yarn.resourcemanager.webapp.methods-allowed, or the gateway"},
	{http.StatusTooManyRequests, "", passing, "wait"},
	{http.StatusBadGateway, "", stored, "the gateway has not got through to the ResourceManager"},
	{http.StatusGatewayTimeout, "", lost, "the gateway has got no reply from the ResourceManager"},
	{http.StatusServiceUnavailable, "WebApplicationException", denied, "the services API does not understand the request: another version of Hadoop, or a gateway that changes the content type"},
	{http.StatusServiceUnavailable, "", passing, "wait until the ResourceManager is up"},
}

// meaning says what a reply other than 200 and 202 means.
func meaning(status int, text string) (k kind, remedy string) {
	for _, m := range meanings {
		if (m.status == 0 || m.status == status) && strings.Contains(text, m.says) {
			return m.kind, m.remedy
		}
	}
	if status/100 == 4 {
		return stored, "look at the ResourceManager's log"
	}
	return stored, "look at the log of the ResourceManager and of the service's ApplicationMaster"
}

var title = regexp.MustCompile(`(?is)<title>(.*?)</title>`)

// said is what a body says, in one line: Hadoop's diagnostics, the message of an
// exception, the title of a page, or its beginning.
func said(resp *outgoing.Reply, media string, body []byte) string {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return ""
	}
	text := ""
	switch {
	case media == "application/json":
		if resp.StatusCode == http.StatusOK && resp.Request.Method == http.MethodGet {
			return "" // it is the answer
		}
		var known struct {
			Diagnostics, Exception, Message string
			RemoteException                 struct{ Exception, Message string }
		}
		if json.Unmarshal(body, &known) == nil {
			text = known.Diagnostics
			if e, m := known.Exception+known.RemoteException.Exception, known.Message+known.RemoteException.Message; text == "" {
				text = strings.TrimPrefix(e+": "+m, ": ")
			}
		}
	case strings.HasSuffix(media, "html"):
		if m := title.FindSubmatch(body); m != nil {
			text = html.UnescapeString(string(m[1]))
		}
	}
	if text == "" {
		return resp.Excerpt(body)
	}
	return resp.Excerpt([]byte(strings.TrimRight(strings.TrimSpace(text), ".")))
}
