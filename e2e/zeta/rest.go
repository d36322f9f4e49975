//go:build unix

package zeta

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// restTimeout bounds one call; Zeta itself waits for some for a while.
const restTimeout = 30 * time.Second

// Overview is what the master says about the cluster.
type Overview struct {
	Workers, TotalSlots, FreeSlots, Running, Failed int
}

// Overview asks the master. This is the test's own view, apart from the
// client that is under test.
func (c *Cluster) Overview(ctx context.Context) (Overview, error) {
	body, err := harness.Get(ctx, c.URL+"/hazelcast/rest/maps/overview")
	if err != nil {
		return Overview{}, err
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		return Overview{}, fmt.Errorf("reading Zeta's overview: %w", err)
	}
	var o Overview
	for key, into := range map[string]*int{
		"workers": &o.Workers, "totalSlot": &o.TotalSlots, "unassignedSlot": &o.FreeSlots,
		"runningJobs": &o.Running, "failedJobs": &o.Failed,
	} {
		text, ok := fields[key].(string)
		if !ok {
			return Overview{}, fmt.Errorf("zeta's overview has no %s: %s", key, body)
		}
		if *into, err = strconv.Atoi(text); err != nil {
			return Overview{}, fmt.Errorf("zeta's overview, %s: %w", key, err)
		}
	}
	return o, nil
}

// Submit submits a streaming job that runs until it is stopped and needs
// 1 + parallelism slots, and returns its id.
func (c *Cluster) Submit(ctx context.Context, name string, parallelism int) (string, error) {
	job := map[string]any{
		"env": map[string]any{"job.mode": "STREAMING", "parallelism": parallelism, "checkpoint.interval": 30000},
		"source": []any{map[string]any{
			"plugin_name": "FakeSource", "result_table_name": "fake", "parallelism": parallelism,
			"row.num": 5, "split.num": 1, "split.read-interval": 60000,
			"schema": map[string]any{"fields": map[string]string{"name": "string", "age": "int"}},
		}},
		"transform": []any{},
		"sink":      []any{map[string]any{"plugin_name": "Console", "source_table_name": "fake"}},
	}
	return c.post(ctx, "/hazelcast/rest/maps/submit-job?jobName="+name, job)
}

// StopJob cancels a job.
func (c *Cluster) StopJob(ctx context.Context, id string) error {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("stopping job %q: %w", id, err)
	}
	_, err = c.post(ctx, "/hazelcast/rest/maps/stop-job", map[string]any{"jobId": number, "isStopWithSavePoint": false})
	return err
}

// JobStatus is RUNNING, FAILED, CANCELED and the like.
func (c *Cluster) JobStatus(ctx context.Context, id string) (string, error) {
	body, err := harness.Get(ctx, c.URL+"/hazelcast/rest/maps/job-info/"+id)
	if err != nil {
		return "", err
	}
	var reply struct {
		JobStatus string `json:"jobStatus"`
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		return "", fmt.Errorf("reading job %s: %w", id, err)
	}
	return reply.JobStatus, nil
}

// WaitForFreeSlots waits until the cluster has so many free slots.
func (c *Cluster) WaitForFreeSlots(t testing.TB, limit time.Duration, want int) {
	t.Helper()
	harness.Wait(t, limit, fmt.Sprintf("Zeta has %d free slots", want), func(ctx context.Context) error {
		o, err := c.Overview(ctx)
		if err == nil && o.FreeSlots != want {
			err = fmt.Errorf("%+v", o)
		}
		return err
	})
}

// post sends JSON and returns the job id of the reply.
func (c *Cluster) post(ctx context.Context, path string, body any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	b, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("posting to Zeta: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path, bytes.NewReader(b))
	if err != nil {
		return "", fmt.Errorf("posting to Zeta: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("posting to Zeta: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("posting to Zeta: %w", err)
	}
	var reply struct {
		JobID any `json:"jobId"`
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	if err := dec.Decode(&reply); err != nil || resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("zeta answered %s to %s: %s", resp.Status, path, answer)
	}
	return fmt.Sprint(reply.JobID), nil
}
