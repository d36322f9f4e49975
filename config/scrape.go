package config

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/source"
)

const scrapeConfigs = "embedded.scrape_configs"

// scrapeConfigs checks every job by itself, so that its place is known, and
// keeps the list as text.
func (d *decoder) scrapeConfigs(_ *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	path := p.Full
	if document.IsNull(n) {
		return nil, true
	}
	if n.Kind != yaml.SequenceNode {
		d.Fail(n, document.CheckType, "", "%s is %s, expected a list of jobs as in Prometheus", path, d.KindOf(n, p))
		return nil, false
	}
	before := len(d.Errors)
	d.refuseSecrets(n)
	for i, job := range n.Content {
		d.Note(document.Index(path, i), job)
		text, err := jobList(job)
		if err == nil {
			err = (&source.ScrapeOptions{Configs: text, Dir: d.dir}).Validate()
		}
		if err != nil {
			d.badJob(job, document.Index(path, i), err)
		}
	}
	out, err := jobList(n.Content...)
	if err != nil {
		d.Fail(n, document.CheckType, "", "%s cannot be read: %v", path, err)
	}
	return ScrapeConfigs(out), len(d.Errors) == before
}

// shown is the text without what may be a secret.
func (s ScrapeConfigs) shown() string {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(s), &n); err != nil || len(n.Content) == 0 {
		return ""
	}
	hideInJobs(&n, "", false)
	out, err := jobList(n.Content[0].Content...)
	if err != nil {
		return masked
	}
	return out
}

func jobList(jobs ...*yaml.Node) (string, error) {
	out, err := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Content: jobs})
	return string(out), err
}

var (
	// jobNoise is what errors of Prometheus begin with, and lines of a text that
	// nobody sees.
	jobNoise   = regexp.MustCompile(`\byaml: (unmarshal errors:)?\s*|\bscrape_configs: |\bparsing YAML file [^:]*: |\bline \d+: `)
	userInfo   = regexp.MustCompile(`://[^/\s"]*@`)
	unknownJob = regexp.MustCompile(`field (.+) (?:not found|already set) in type`)
	// notASection is a value where a mapping is expected, which may be the secret
	// that should be in it.
	notASection = regexp.MustCompile("(cannot unmarshal !!\\w+) `.*` (into (?:config\\.|url\\.Values))")
)

// badJob reports an error of Prometheus, at the key that it names if it does.
func (d *decoder) badJob(job *yaml.Node, path string, err error) {
	for line := range strings.SplitSeq(jobNoise.ReplaceAllString(err.Error(), ""), "\n") {
		line = userInfo.ReplaceAllString(strings.TrimSpace(line), "://…@")
		line = notASection.ReplaceAllString(line, "$1 $2")
		if line == "" {
			continue
		}
		where := job
		if m := unknownJob.FindStringSubmatch(line); m != nil {
			if key := findKey(job, m[1]); key != nil {
				where = key
			}
			line = strings.Replace(line, m[1], document.KeyName(m[1], path), 1)
		}
		d.Fail(where, document.CheckValue, "the keys are those of Prometheus' scrape_config", "%s: %s", path, line)
	}
}

// findKey finds the first key with a name.
func findKey(n *yaml.Node, name string) *yaml.Node {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Value == name {
			return c
		}
		if key := findKey(c, name); key != nil {
			return key
		}
	}
	return nil
}

// checkJobs checks what only the whole list can tell: names that are there
// twice. A job that is wrong by itself was reported already.
func (r *report) checkJobs(o source.ScrapeOptions) {
	for _, d := range r.Errors {
		if d.Pos == r.at(scrapeConfigs) || strings.HasPrefix(d.Message, scrapeConfigs) || d.Check == CheckSecret {
			return
		}
	}
	if err := o.Validate(); err != nil {
		r.fail(scrapeConfigs, document.CheckValue, "", "%s: %s", scrapeConfigs, strings.TrimSpace(jobNoise.ReplaceAllString(err.Error(), "")))
	}
}
