package yarn

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/yarn/spnego"
)

// Defaults of Options.
const (
	DefaultTimeout      = 10 * time.Second
	DefaultServicesPath = "/app/v1"
)

// requestsPerCall is how many requests one call of the actuator makes, when all
// are answered late: reading service and application, confirming, writing.
const requestsPerCall = 4

// Options are what an actuator is made of. URLs, Service, Component and Logger are
// required.
type Options struct {
	// URLs are the resource managers of one cluster.
	URLs []string `yaml:"urls" check:"required,url"`
	// Service is the name of the YARN service.
	Service string `yaml:"service" check:"required"`
	// Component is the component whose instances are the workers.
	Component string `yaml:"component" check:"required"`
	// User is whom we say we are where YARN asks for no proof; the service must be
	// his. Empty: nobody, or the principal's first part.
	User string `yaml:"user"`
	// Kerberos is how we prove who we are where YARN wants that.
	Kerberos spnego.Options `yaml:"kerberos"`
	// ServicesPath is where the services API is below a URL, empty is
	// DefaultServicesPath.
	ServicesPath string `yaml:"services_path"`
	// WorkerPort is the port of Zeta in the instance of number 0; that of another
	// is greater by its number. 0: not known.
	WorkerPort int `yaml:"worker_port" check:"least=0,most=65535"`
	// Timeout bounds one request, 0 is DefaultTimeout.
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
	// Withdraw says that what of a flex has not come within the convergence
	// time-out is taken back.
	Withdraw bool `yaml:"withdraw"`
	// HTTPClientConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPClientConfig promconfig.HTTPClientConfig `yaml:"http_config"`
	// Locks are shared with other actuators of the same process, nil: with none.
	Locks  *Locks
	Logger *slog.Logger
}

// SetDefaults implements document.Defaulter.
func (o *Options) SetDefaults() {
	o.ServicesPath, o.Timeout, o.Withdraw = DefaultServicesPath, DefaultTimeout, true
	o.HTTPClientConfig = promconfig.DefaultHTTPClientConfig
}

// WritesTo implements actuators.Maker. A service name is unique within its YARN
// cluster; whether two lists of resource managers mean one cluster is not for us
// to know.
func (o *Options) WritesTo() string { return path.Join("yarn", o.Service, o.Component) }

// CallTimeout implements actuators.Maker: it leaves the time that a call may wait for
// the service, whatever bounds a request.
func (o *Options) CallTimeout() time.Duration {
	return requestsPerCall*o.timeout() + max(stableWithin, shownWithin)
}

// Releases implements actuators.Releaser.
func (o *Options) Releases() bool { return true }

// Make implements actuators.Maker.
func (o *Options) Make(e actuators.Env) (actuators.Actuator, error) {
	with := *o
	with.Logger = e.Logger
	a, err := New(with)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (o *Options) timeout() time.Duration { return cmp.Or(o.Timeout, DefaultTimeout) }

func (o *Options) servicesPath() string {
	return "/" + strings.Trim(cmp.Or(o.ServicesPath, DefaultServicesPath), "/")
}

// owner is whom the service must belong to, empty if that is not known.
func (o *Options) owner() string { return cmp.Or(o.User, o.Kerberos.User()) }

// label is a name as YARN wants one: a label of a host's name (RFC 1123).
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

const labelWanted = "is %q, expected a name of lower-case letters, digits and hyphens (RFC 1123), at most 63"

// Check reports values that YARN would refuse.
func (o *Options) Check(fail func(key, format string, args ...any)) {
	if o.Service != "" && !label.MatchString(o.Service) {
		fail("service", labelWanted, o.Service)
	}
	if o.Component != "" && !label.MatchString(o.Component) {
		fail("component", labelWanted, o.Component)
	}
	if strings.ContainsAny(o.User, "&?#/ ") {
		fail("user", "is %q, expected the name of a user", o.User)
	}
	if strings.ContainsAny(o.ServicesPath, "?#") {
		fail("services_path", "is %q, expected a path such as %s", o.ServicesPath, DefaultServicesPath)
	}
	o.Kerberos.Check(fail)
	if c := &o.HTTPClientConfig; o.Kerberos.Set() && (c.BasicAuth != nil || c.Authorization != nil || c.OAuth2 != nil) {
		fail("kerberos", "and http_config both say who we are in the header Authorization, expected one of them")
	}
	for i, u := range o.URLs {
		if slices.Contains(o.URLs[:i], u) {
			fail("urls", "names %s twice", u)
		}
	}
}

// Validate reports every field that is missing or wrong.
func (o *Options) Validate() error {
	var problems []error
	for _, r := range []struct {
		key     string
		missing bool
	}{{"urls", len(o.URLs) == 0}, {"service", o.Service == ""}, {"component", o.Component == ""}} {
		if r.missing {
			problems = append(problems, errors.New(r.key+": required"))
		}
	}
	if o.Timeout < 0 {
		problems = append(problems, fmt.Errorf("timeout %s: must not be negative", o.Timeout))
	}
	o.Check(func(key, format string, args ...any) {
		problems = append(problems, fmt.Errorf(key+" "+format, args...))
	})
	return errors.Join(problems...)
}
