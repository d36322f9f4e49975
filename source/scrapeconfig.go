package source

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	_ "github.com/prometheus/prometheus/discovery/file" // registers file_sd_configs
	_ "github.com/prometheus/prometheus/discovery/http" // registers http_sd_configs
	"go.yaml.in/yaml/v3"
)

// ScrapeOptions say what an Embedded scrapes.
type ScrapeOptions struct {
	// Configs is the YAML list below scrape_configs of a Prometheus
	// configuration. Targets come from static_configs, file_sd_configs and
	// http_sd_configs; other discoveries are unknown keys, for they would bring
	// the libraries of every cloud along.
	Configs string
	// Dir is what relative file names in Configs are relative to.
	Dir string
	// Interval and Timeout are for jobs that name none; 0 is
	// DefaultScrapeInterval, and 10 s but not longer than the interval.
	Interval, Timeout time.Duration
	// InProcess are targets inside this process.
	InProcess []InProcess
}

// InProcess is a target that is scraped as any other, with up, timestamps and
// stale markers, but over memory instead of a network.
type InProcess struct {
	// Job and Instance are the labels of its series; Labels are further ones.
	Job, Instance string
	Labels        map[string]string
	// Interval and Timeout override those of ScrapeOptions.
	Interval, Timeout time.Duration
	// HonorLabels lets labels in the exposition win over those above.
	HonorLabels bool
	// Gatherer is what is scraped, or Handler if the exposition depends on the
	// request (its time-out is in X-Prometheus-Scrape-Timeout-Seconds).
	Gatherer prometheus.Gatherer
	Handler  http.Handler
}

// scrapePlan is a checked ScrapeOptions.
type scrapePlan struct {
	config    *config.Config
	discovery map[string]discovery.Configs
	// handlers are the in-process targets by host name.
	handlers map[string]http.Handler
}

func (o *ScrapeOptions) plan() (*scrapePlan, error) {
	list, err := o.parse()
	if err != nil {
		return nil, fmt.Errorf("scrape_configs: %w", err)
	}
	p := &scrapePlan{handlers: make(map[string]http.Handler), discovery: make(map[string]discovery.Configs)}
	own, err := o.inProcessJobs(p.handlers)
	if err != nil {
		return nil, err
	}
	list.Content = append(list.Content, own...)
	text, err := yaml.Marshal(map[string]any{"global": o.global(), "scrape_configs": list})
	if err != nil {
		return nil, fmt.Errorf("writing the scrape configuration: %w", err)
	}
	// Only a configuration that was loaded from text counts as checked.
	if p.config, err = config.Load(string(text), slog.New(slog.DiscardHandler)); err != nil {
		return nil, fmt.Errorf("in-process targets: %w", err)
	}
	p.config.SetDirectory(o.Dir)
	jobs, err := p.config.GetScrapeConfigs()
	if err != nil {
		return nil, fmt.Errorf("scrape_configs: %w", err)
	}
	for _, job := range jobs {
		p.discovery[job.JobName] = job.ServiceDiscoveryConfigs
	}
	return p, nil
}

// inProcessJobs are the two jobs that hold all in-process targets. There are
// always both: the scraper marks the series of a target stale when the target
// leaves its job, but not when the whole job goes.
func (o *ScrapeOptions) inProcessJobs(handlers map[string]http.Handler) ([]*yaml.Node, error) {
	groups := map[bool][]any{}
	for i, t := range o.InProcess {
		host, labels, err := t.target(o)
		if err == nil && handlers[host] != nil {
			err = errors.New("is given twice")
		}
		if err != nil {
			return nil, fmt.Errorf("in-process target %d (job %q, instance %q): %w", i+1, t.Job, t.Instance, err)
		}
		handlers[host] = t.handler()
		groups[t.HonorLabels] = append(groups[t.HonorLabels], map[string]any{"targets": []string{host}, "labels": labels})
	}
	var jobs []*yaml.Node
	for _, honor := range []bool{false, true} {
		job := &yaml.Node{}
		err := job.Encode(map[string]any{
			// The label job of each target wins over this name.
			"job_name":       fmt.Sprintf("in-process, honor_labels %t", honor),
			"honor_labels":   honor,
			"static_configs": groups[honor],
		})
		if err != nil {
			return nil, fmt.Errorf("writing the in-process targets: %w", err)
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// global are the defaults for jobs.
func (o *ScrapeOptions) global() map[string]string {
	return map[string]string{
		"scrape_interval": model.Duration(cmp.Or(o.Interval, DefaultScrapeInterval)).String(),
		"scrape_timeout":  model.Duration(o.timeout()).String(),
	}
}

// timeout is the default for jobs.
func (o *ScrapeOptions) timeout() time.Duration {
	return cmp.Or(o.Timeout, min(cmp.Or(o.Interval, DefaultScrapeInterval), 10*time.Second))
}

// parse checks the operator's own list by itself, so that errors have its line
// numbers.
func (o *ScrapeOptions) parse() (*yaml.Node, error) {
	empty := &yaml.Node{Kind: yaml.SequenceNode}
	var doc yaml.Node
	d := yaml.NewDecoder(strings.NewReader(o.Configs))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return empty, nil
	case err != nil:
		return nil, err
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one document")
	}
	list := doc.Content[0]
	if list.Kind == yaml.ScalarNode && list.Tag == "!!null" {
		return empty, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: expected a list of jobs", list.Line)
	}
	if list.Style&yaml.FlowStyle != 0 && len(list.Content) == 0 {
		return empty, nil
	}
	global, err := yaml.Marshal(map[string]any{"global": o.global()})
	if err != nil {
		return nil, err
	}
	// In front of the list, and on lines that are subtracted again.
	head := string(global) + "scrape_configs:\n"
	if _, err := config.Load(head+indented(o.Configs), slog.New(slog.DiscardHandler)); err != nil {
		return nil, errors.New(shiftLines(err.Error(), strings.Count(head, "\n")))
	}
	return list, nil
}

// indented puts a list below a key. A line that begins the document would not
// be allowed there.
func indented(list string) string {
	lines := strings.Split(list, "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.TrimSpace(line) == "---" {
			lines[i] = ""
		}
		break
	}
	return "  " + strings.Join(lines, "\n  ")
}

var lineNumber = regexp.MustCompile(`\bline (\d+)\b`)

// shiftLines corrects the line numbers in an error by the lines put in front.
func shiftLines(message string, by int) string {
	return lineNumber.ReplaceAllStringFunc(message, func(m string) string {
		n, err := strconv.Atoi(m[len("line "):])
		if err != nil {
			return m
		}
		return fmt.Sprintf("line %d", max(n-by, 1))
	})
}

// inProcessDomain marks the addresses of in-process targets. The top-level
// domain is reserved for names that never resolve.
const inProcessDomain = ".in-process.invalid"

// target is the host name of an in-process target, which depends on its labels
// alone, so that one that outlives a reload is the same target to the scraper;
// and the labels that it is configured with.
func (t *InProcess) target(o *ScrapeOptions) (host string, configured map[string]string, err error) {
	if t.Job == "" || t.Instance == "" {
		return "", nil, errors.New("job and instance must be set")
	}
	if (t.Gatherer == nil) == (t.Handler == nil) {
		return "", nil, errors.New("exactly one of gatherer and handler must be set")
	}
	configured = map[string]string{"job": t.Job, "instance": t.Instance}
	for name, value := range t.Labels {
		switch {
		case configured[name] != "":
			return "", nil, fmt.Errorf("label %q is set twice", name)
		case !model.UTF8Validation.IsValidLabelName(name), strings.HasPrefix(name, model.ReservedLabelPrefix):
			return "", nil, fmt.Errorf("label %q is not a name for a target label", name)
		}
		configured[name] = value
	}
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		fmt.Fprintf(h, "%q=%q,", name, configured[name])
	}
	interval := cmp.Or(t.Interval, o.Interval, DefaultScrapeInterval)
	timeout := cmp.Or(t.Timeout, min(o.timeout(), interval))
	if timeout > interval {
		return "", nil, fmt.Errorf("timeout %s is longer than the interval %s", timeout, interval)
	}
	configured[model.ScrapeIntervalLabel] = model.Duration(interval).String()
	configured[model.ScrapeTimeoutLabel] = model.Duration(timeout).String()
	return fmt.Sprintf("%016x", h.Sum64()) + inProcessDomain, configured, nil
}

// handler serves the target's exposition. One scrape at a time: a gatherer that
// hangs costs its own scrapes and does not pile up.
func (t *InProcess) handler() http.Handler {
	if t.Handler != nil {
		return t.Handler
	}
	return promhttp.HandlerFor(t.Gatherer, promhttp.HandlerOpts{DisableCompression: true, MaxRequestsInFlight: 1})
}
