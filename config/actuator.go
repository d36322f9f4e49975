package config

import (
	"path"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"
)

// Actuator is what changes the worker count of a scope: at most one of the
// fields is set, and log is meant if none is.
type Actuator struct {
	// Log writes what it would do.
	Log *LogActuator `yaml:"log"`
	// Exec runs a command of the operator's.
	Exec *ExecActuator `yaml:"exec"`
	// Webhook calls an existing scaling system.
	Webhook *WebhookActuator `yaml:"webhook"`
	// Kubernetes scales a workload.
	Kubernetes *KubernetesActuator `yaml:"kubernetes"`
	// YARN flexes a component of a YARN service.
	YARN *YARNActuator `yaml:"yarn"`
}

// LogActuator writes what it would do; it has no options.
type LogActuator struct{}

// ExecActuator runs a command of the operator's.
type ExecActuator struct {
	// Command is the program, without a shell.
	Command string `yaml:"command" check:"required"`
	// Args are its arguments.
	Args []string `yaml:"args"`
	// Timeout is how long it may take.
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
	// Target names what the command scales: two scopes must not write to one.
	Target string `yaml:"target" check:"required"`
	// Observe says that the command can tell the present worker count; else the
	// inventory of Zeta alone decides when an action converged.
	Observe bool `yaml:"observe"`
}

// WebhookActuator calls an existing scaling system.
type WebhookActuator struct {
	// URL is posted to.
	URL string `yaml:"url" check:"required,url"`
	// Target names what the system scales: two scopes must not write to one.
	Target string `yaml:"target" check:"required"`
	// Timeout is how long one call may take.
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
	// TemplateFile has the body as a template; empty: the recommendation.
	TemplateFile string `yaml:"template_file" check:"file"`
	// SecretFile has the key that signs the body; empty: no signature.
	SecretFile string `yaml:"secret_file" check:"file"`
	// HTTPConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// KubernetesActuator scales a workload.
type KubernetesActuator struct {
	// Namespace is the namespace of the workload.
	Namespace string `yaml:"namespace" check:"required"`
	// Kind is StatefulSet or Deployment.
	Kind string `yaml:"kind" check:"required,oneof=StatefulSet|Deployment"`
	// Name is the name of the workload.
	Name string `yaml:"name" check:"required"`
	// Kubeconfig is how to reach the cluster; empty: the one that we run in.
	Kubeconfig string `yaml:"kubeconfig" check:"file"`
}

// YARNActuator flexes a component of a YARN service.
type YARNActuator struct {
	// URLs are the resource managers.
	URLs []string `yaml:"urls" check:"required,url"`
	// Service is the name of the YARN service.
	Service string `yaml:"service" check:"required"`
	// Component is the component whose instances are the workers.
	Component string `yaml:"component" check:"required"`
	// HTTPConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// kinds are the names of the actuators that are set.
func (a *Actuator) kinds() []string {
	var set []string
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"log", a.Log != nil},
		{"exec", a.Exec != nil},
		{"webhook", a.Webhook != nil},
		{"kubernetes", a.Kubernetes != nil},
		{"yarn", a.YARN != nil},
	} {
		if k.set {
			set = append(set, k.name)
		}
	}
	return set
}

// Kind is the name of the actuator that is set, log if none is.
func (a *Actuator) Kind() string {
	if kinds := a.kinds(); len(kinds) > 0 {
		return kinds[0]
	}
	return "log"
}

// Target names what the actuator writes to, "" for none (log). Two scopes with
// the same target would undo each other's work.
func (a *Actuator) Target() string {
	switch {
	case a.Exec != nil:
		return a.Exec.Target
	case a.Webhook != nil:
		return a.Webhook.Target
	case a.Kubernetes != nil:
		k := a.Kubernetes
		t := path.Join("kubernetes", k.Namespace, strings.ToLower(k.Kind), k.Name)
		if k.Kubeconfig != "" {
			t += " of " + k.Kubeconfig
		}
		return t
	case a.YARN != nil:
		// A service name is unique within its YARN cluster; whether two lists of
		// resource managers mean one cluster is not for us to know.
		return path.Join("yarn", a.YARN.Service, a.YARN.Component)
	}
	return ""
}
