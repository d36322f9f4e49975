package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// wireJob is a job as /running-jobs and /job-info write it.
type wireJob struct {
	wireFailure
	ID      zeta.Text                  `json:"jobId"`
	Name    string                     `json:"jobName"`
	Status  zeta.Text                  `json:"jobStatus"`
	Env     map[string]json.RawMessage `json:"envOptions"`
	Created zeta.Text                  `json:"createTime"`
	DAG     json.RawMessage            `json:"jobDag"`
	Metrics json.RawMessage            `json:"metrics"`
}

// wireFailure is what Zeta writes in place of a reply, sometimes with status 200.
type wireFailure struct {
	Failed  zeta.Text `json:"status"`
	Message zeta.Text `json:"message"`
}

// err is the failure, nil if there is none.
func (f wireFailure) err() error {
	if f.Failed != "fail" {
		return nil
	}
	return fmt.Errorf("it failed: %s", outgoing.OneLine(string(f.Message), 200))
}

// decodeJobs reads a body of /running-jobs, which for a moment also has jobs
// that are over.
func decodeJobs(r io.Reader) ([]Job, error) {
	jobs := []Job{}
	err := zeta.EachElement(r, func(read zeta.ReadValue) error {
		var w wireJob
		if err := read(&w); err != nil {
			return err
		}
		if _, err := parseID(string(w.ID)); err != nil {
			return err
		}
		if w.Status == "" {
			return fmt.Errorf("job %s has no status", w.ID)
		}
		if j := w.job(); !j.Status.Ended() {
			jobs = append(jobs, j)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// decodeJob reads a body of /job-info/ID. A job that Zeta does not know is
// answered with its id and nothing else.
func decodeJob(r io.Reader, id string) (Job, error) {
	var w wireJob
	if err := zeta.DecodeWhole(r, &w); err != nil {
		return Job{}, err
	}
	switch err := w.err(); {
	case err != nil:
		return Job{}, err
	case w.ID != "" && string(w.ID) != id:
		return Job{}, fmt.Errorf("it is about job %s", outgoing.OneLine(string(w.ID), 40))
	case w.Status == "" && w.Name == "" && w.Created == "" && w.DAG == nil:
		return Job{}, ErrNoJob
	case w.ID == "" || w.Status == "":
		return Job{}, errors.New("neither jobId nor jobStatus in it")
	}
	return w.job(), nil
}

func (w *wireJob) job() Job {
	j := Job{
		ID: string(w.ID), Name: w.Name, Status: Status(strings.ToUpper(string(w.Status))),
		Env: textOf(w.Env), Received: w.received(),
	}
	j.Mode = Mode(strings.ToUpper(j.Env["job.mode"]))
	j.Created, _ = time.Parse(time.DateTime, string(w.Created))
	j.Sources, j.Sinks = plugins(w.DAG)
	return j
}

// textOf are options as text, whatever they are in JSON.
func textOf(options map[string]json.RawMessage) map[string]string {
	if options == nil {
		return nil
	}
	out := make(map[string]string, len(options))
	for k, raw := range options {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		out[k] = s
	}
	return out
}

// received is the number of rows read, -1 where the metrics do not say.
func (w *wireJob) received() int64 {
	var m struct {
		Received zeta.Count `json:"SourceReceivedCount"`
	}
	if w.Metrics == nil || json.Unmarshal(w.Metrics, &m) != nil || !m.Received.Known {
		return -1
	}
	return m.Received.Value
}

// vertex finds a plugin in a vertex' name: "Source[0]-FakeSource(id=1)",
// "pipeline-1 [Sink[0]-Console-MultiTableSink]".
var vertex = regexp.MustCompile(`(Source|Sink)\[\d+\]-([^\]()]+)`)

// plugins are the sources and sinks of a job's graph, nil where the graph is not
// told. 2.3.8 writes the graph of a job that is over as a text with JSON in it,
// and others have their vertices in a list or in a map.
func plugins(dag json.RawMessage) (sources, sinks []string) {
	var text string
	if json.Unmarshal(dag, &text) == nil {
		dag = json.RawMessage(text)
	}
	type info struct{ Name, VertexName, ConnectorType string }
	var graph struct {
		Vertices []info          `json:"vertices"`
		Infos    json.RawMessage `json:"vertexInfoMap"`
	}
	if json.Unmarshal(dag, &graph) != nil {
		return nil, nil
	}
	all := graph.Vertices
	var byID map[string]info
	if json.Unmarshal(graph.Infos, &byID) == nil {
		for _, v := range byID {
			all = append(all, v)
		}
	} else {
		var list []info
		_ = json.Unmarshal(graph.Infos, &list)
		all = append(all, list...)
	}
	for _, v := range all {
		m := vertex.FindStringSubmatch(v.Name + v.VertexName + v.ConnectorType)
		if m == nil {
			continue
		}
		name := strings.TrimSuffix(m[2], "-MultiTableSink")
		if m[1] == "Source" {
			sources = append(sources, name)
		} else {
			sinks = append(sinks, name)
		}
	}
	slices.Sort(sources)
	slices.Sort(sinks)
	return sources, sinks
}

// decodeCheckpoint reads a body of /jobs/checkpoints/ID: the smallest of the
// pipelines' latest ones, 0 if one has none. It begins anew at 1 where a job
// does.
func decodeCheckpoint(r io.Reader) (int64, error) {
	var body struct {
		Pipelines []struct {
			Latest struct {
				ID zeta.Count `json:"checkpointId"`
			} `json:"latestCompleted"`
		} `json:"pipelines"`
	}
	if err := zeta.DecodeWhole(r, &body); err != nil {
		return 0, err
	}
	if len(body.Pipelines) == 0 {
		return 0, errors.New("no pipelines in it")
	}
	latest := body.Pipelines[0].Latest.ID.Value
	for _, p := range body.Pipelines {
		latest = min(latest, p.Latest.ID.Value)
	}
	return latest, nil
}
