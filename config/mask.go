package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// openHeaders and openParams are sent with every request and hold no secret; the
// values of all others are hidden, whatever their names say.
var (
	openHeaders = []string{"x-scope-orgid"}
	openParams  = []string{"dedup", "partial_response", "max_source_resolution", "scope", "resource", "audience"}
)

// hidden reports whether an entry of a table may be a secret.
func hidden(path, name string) bool {
	switch {
	case strings.HasSuffix(path, ".headers"):
		return !slices.Contains(openHeaders, strings.ToLower(name))
	case strings.HasSuffix(path, "_params"):
		return !slices.Contains(openParams, name)
	}
	return document.SecretPath(path+".") && document.SecretName(name)
}

// openPaths are where metrics are by custom. Any other path may be known to those
// alone who may read it.
var openPaths = []string{"", "/metrics", "/federate", "/probe", "/actuator/prometheus", "/hazelcast/rest/instance/metrics"}

// fixedPart matches what a replacement has beside what it takes from a label.
var fixedPart = regexp.MustCompile(`\$(\d+|\w+|\{\w+\})`)

// hideInJobs replaces what may be a secret in scrape_configs, by its kind: values
// whose keys say so; all values of params and of headers; of URLs the user, the
// path and the query; a path of metrics that is none of custom; and what relabeling
// or a label puts into any of those. Labels that series get are no secrets: whoever
// may query sees them.
func hideInJobs(n *yaml.Node, key string, secret bool) {
	if n.Kind == yaml.ScalarNode {
		hideScalar(n, key, secret)
		return
	}
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode {
			hideInJobs(c, key, secret)
			continue
		}
		if i%2 == 0 {
			continue
		}
		name := n.Content[i-1].Value
		named := c.Kind != yaml.MappingNode && document.SecretName(name) && !document.FileKey(name) && !strings.HasSuffix(name, "_url")
		hideInJobs(c, name, secret || named || name == headerValues || slices.Contains([]string{"params", "endpoint_params"}, name) ||
			strings.HasPrefix(name, "__param_") || name == "replacement" && intoRequest(n))
	}
}

// intoRequest reports whether a rule of relabeling changes what is asked for, and not
// a label that stays.
func intoRequest(rule *yaml.Node) bool {
	for i := 0; i+1 < len(rule.Content); i += 2 {
		if rule.Content[i].Value == "target_label" {
			return strings.HasPrefix(rule.Content[i+1].Value, "__") || strings.Contains(rule.Content[i+1].Value, "$")
		}
	}
	// labelmap makes names of labels, among them those of the request.
	return true
}

func hideScalar(n *yaml.Node, key string, secret bool) {
	switch {
	case n.Tag == "!!bool" || n.Tag == "!!int" && !secret:
	case key == "replacement" && fixedPart.ReplaceAllString(n.Value, "") == "":
	case secret:
		n.SetString(masked)
	case key == "metrics_path" || key == "__metrics_path__":
		if !slices.Contains(openPaths, n.Value) {
			n.SetString(masked)
		}
	case strings.Contains(n.Value, "://"):
		n.SetString(shownURL(n.Value))
	case strings.Contains(n.Value, "@") && (key == "targets" || key == "__address__"):
		n.SetString(masked + n.Value[strings.LastIndex(n.Value, "@"):])
	}
}

// shownURL is a URL without what may be a secret in it: user, path and query.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return masked
	}
	out := u.Scheme + "://"
	if u.User != nil {
		out += masked + "@"
	}
	out += u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		out += "/" + masked
	}
	return out
}
