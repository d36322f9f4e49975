package app

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// headsQuery has a series for each figure of each first job: which job and how
// old the sample is, the slots that it needs and lacks, how long it has waited.
// Where no job waits there is none.
const headsQuery = `label_replace(time() - timestamp(seatunnel_zeta_pending_head_info), "` + figureLabel + `", "age", "", "")
  or label_replace(seatunnel_zeta_pending_head_required_slots, "` + figureLabel + `", "required", "", "")
  or label_replace(seatunnel_zeta_pending_head_lacking_slots > 0, "` + figureLabel + `", "lacking", "", "")
  or label_replace(seatunnel_zeta_pending_job_oldest_seconds > 0, "` + figureLabel + `", "waited", "", "")`

const (
	// figureLabel tells the figures apart.
	figureLabel = "zeta_scaler_figure"
	// maxHeadSamples bounds one answer: four figures of some 20 000 clusters.
	maxHeadSamples = 100_000
	// maxHeadAge is how old a sample may be, in seconds: what an exporter said that
	// stopped without a word counts for as long in the packs.
	maxHeadAge = 90
	// maxHeadText bounds a job's id and reason, in bytes; the exporter has no longer
	// ones.
	maxHeadText = 64
	// unknownWord is what the exporter writes in place of a text that it does not take.
	unknownWord = "unknown"
)

// headSource is what one exporter says about one cluster in one scrape.
type headSource struct {
	// scope are the values of the scope's labels; belongs is false if one of them
	// is missing, and the series are nobody's.
	scope   string
	belongs bool
	// jobs are how many first jobs it names: one, or something is wrong.
	jobs                      int
	id, reason                string
	age                       float64
	required, lacking, waited *float64
}

// headsByScope finds the first job of each scope, by scopeValues. A scope in which
// several are named has none: it may be two clusters, or one that has changed
// while two exporters looked at it.
func headsByScope(samples []source.Sample, scopeBy []string, at time.Time) map[string]*scaling.QueueHead {
	best, several := map[string]*headSource{}, map[string]bool{}
	for _, s := range headSources(samples, scopeBy) {
		if s.jobs == 0 || !s.belongs {
			continue
		}
		b := best[s.scope]
		if s.jobs > 1 || b != nil && b.id != s.id {
			several[s.scope] = true
		}
		if b == nil || s.age < b.age {
			best[s.scope] = s
		}
	}
	out := make(map[string]*scaling.QueueHead, len(best))
	for scope, s := range best {
		if !several[scope] && plainText(s.id) && s.id != unknownWord {
			out[scope] = s.head(at)
		}
	}
	return out
}

// headSources joins the figures that are of the same exporter and cluster: all
// other labels are the same.
func headSources(samples []source.Sample, scopeBy []string) map[string]*headSource {
	out := map[string]*headSource{}
	var buf []byte
	for _, v := range samples {
		buf = v.Labels.BytesWithoutLabels(buf, model.MetricNameLabel, "job_id", "reason", figureLabel)
		s := out[string(buf)]
		if s == nil {
			s = &headSource{}
			s.scope, s.belongs = valuesOf(v.Labels, scopeBy)
			out[string(buf)] = s
		}
		switch figure := v.Value; v.Labels.Get(figureLabel) {
		case "age":
			if figure <= maxHeadAge {
				s.jobs++
				s.id, s.reason, s.age = v.Labels.Get("job_id"), v.Labels.Get("reason"), figure
			}
		case "required":
			s.required = &figure
		case "lacking":
			s.lacking = &figure
		case "waited":
			s.waited = &figure
		}
	}
	return out
}

func (s *headSource) head(at time.Time) *scaling.QueueHead {
	h := &scaling.QueueHead{
		JobID: s.id, RequiredSlots: slots(s.required), LackingSlots: slots(s.lacking),
		ObservedAt: at.Add(-time.Duration(max(0, s.age) * float64(time.Second))).UTC().Truncate(time.Millisecond),
	}
	if plainText(s.reason) && s.reason != unknownWord {
		h.Reason = s.reason
	}
	if w := s.waited; w != nil && *w >= 0 && *w < math.MaxInt32 {
		h.WaitedSeconds = w
	}
	return h
}

// slots is a number of slots, nil for what cannot be one.
func slots(v *float64) *int {
	if v == nil || !(*v >= 0 && *v <= math.MaxInt32) || *v != math.Trunc(*v) {
		return nil
	}
	n := int(*v)
	return &n
}

func plainText(s string) bool { return s != "" && len(s) <= maxHeadText && utf8.ValidString(s) }

// scopeValues joins the values of a scope's labels with a byte that no text has.
func scopeValues(ls []scaling.Label) string {
	var b strings.Builder
	for _, l := range ls {
		b.WriteString(l.Value)
		b.WriteByte(0xff)
	}
	return b.String()
}

// valuesOf is scopeValues of a series' labels; ok is false if one is missing.
func valuesOf(ls labels.Labels, names []string) (values string, ok bool) {
	of := make([]scaling.Label, len(names))
	for i, name := range names {
		if of[i].Value = ls.Get(name); of[i].Value == "" {
			return "", false
		}
	}
	return scopeValues(of), true
}
