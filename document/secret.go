package document

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	// fileKey matches names of keys that only name a file.
	fileKey = regexp.MustCompile(`\w+_files?\b`)
	// secretName matches names of keys, headers and parameters that hold secrets.
	secretName = regexp.MustCompile(`(?i)auth|cookie|token|secret|pass?w|credential|assertion|api[-_]?key|access[-_]?key`)
	// secretLine matches lines that may hold a secret.
	secretLine = regexp.MustCompile(`(?i)http_config|pass?w|pass\b|phrase|secret|token|credential|auth|cookie|api.?key|bearer|:.*@|\bkey\s*:|\bca\s*:|\bcert\s*:`)
)

// SecretName reports whether a key, header or parameter is a secret by its name.
func SecretName(name string) bool { return secretName.MatchString(name) }

// FileKey reports whether a key names a file and so is no secret itself.
func FileKey(name string) bool { return fileKey.MatchString(name) }

// holdsSecret reports whether a line may hold a secret.
func holdsSecret(line string) bool {
	return secretLine.MatchString(fileKey.ReplaceAllString(line, ""))
}

// SecretPath reports whether values below a path, such as
// clusters[0].http_config.proxy_url, are kept out of messages.
func SecretPath(path string) bool {
	for _, s := range []string{"http_config", ".headers", ".query_params", "scrape_configs", "basic_auth_users"} {
		if strings.Contains(path, s) {
			return true
		}
	}
	return false
}

// hide notes the lines of values that may be secrets by the name of a key
// around them, so that no error quotes them.
func (r *Report) hide(n *yaml.Node, secret bool) {
	if secret {
		for line := n.Line; line <= n.Line+strings.Count(n.Value, "\n"); line++ {
			r.hidden[line] = true
		}
	}
	for i, c := range n.Content {
		inside := secret
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			key := n.Content[i-1].Value
			inside = inside || !FileKey(key) && SecretName(key) ||
				slices.Contains([]string{
					"headers", "http_headers", "query_params", "endpoint_params", "key", "proxy_url",
					"params", "metrics_path", "static_configs", // of scrape_configs
				}, key) || strings.HasSuffix(key, "_sd_configs") || strings.HasSuffix(key, "relabel_configs")
		}
		r.hide(c, inside)
	}
}

// KeyName is a key as errors show it. Where secrets stand, one that lacks the
// space after its colon, as in {password:x}, is shown without what was meant to
// be the value.
func KeyName(key, path string) string {
	end := strings.IndexAny(key, ": \t\"'")
	if end < 0 || !SecretPath(path) {
		return key
	}
	return key[:end] + "…"
}
