package zeta

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEndedJobs(t *testing.T) {
	const body = `[
		{"jobName":"a","jobStatus":"FINISHED","errorMsg":null,"createTime":"2026-11-29 12:34:54","finishTime":"2026-11-29 12:35:03",
			"jobDag":"{\"jobId\":1,\"pipelineEdges\":{\"1\":[],\"2\":[{\"inputVertexId\":1}]}}"},
		{"jobName":"b","jobStatus":"FINISHED","createTime":"2026-11-29 12:34:54","finishTime":"2026-11-29 12:34:54","jobDag":{"pipelineEdges":{"1":[]}}},
		{"jobName":"c","jobStatus":"FINISHED","createTime":"2026-11-29 12:34:54","finishTime":"","jobDag":7},
		{"jobName":"d","jobStatus":"FINISHED","createTime":"2026-11-29 12:34:54","finishTime":"2026-11-29 12:34:53"},
		{"jobName":"zeta-scaler-hold-1","jobStatus":"FINISHED","createTime":"2026-11-29 12:34:54","finishTime":"2026-11-29 12:35:54"}]`
	var asked []string
	c, err := NewClient(ClientOptions{
		Cluster: ClusterConfig{Name: "c", URLs: []string{"http://m:8080"}},
		Transport: transport(func(req *http.Request) (*http.Response, error) {
			asked = append(asked, req.URL.Path)
			switch req.URL.Path {
			case "/overview":
				return response(req, 200, jsonHeader(), []byte(`{"projectVersion":"2.3.13","workers":"1"}`)), nil
			case "/finished-jobs/FINISHED":
				return response(req, 200, jsonHeader(), []byte(body)), nil
			}
			return response(req, 500, jsonHeader(), []byte(`{"status":"fail","message":"null"}`)), nil
		}),
	})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.EndedJobs(t.Context(), Finished)
	require.ErrorContains(t, err, "no node has answered /overview yet")
	_, err = c.Overview(t.Context())
	require.NoError(t, err)

	ended, err := c.EndedJobs(t.Context(), Finished)
	require.NoError(t, err)
	at := time.Date(2026, 11, 29, 12, 34, 54, 0, time.UTC)
	require.Equal(t, EndedJobs{Odd: 2, Jobs: []EndedJob{
		{Name: "a", Status: Finished, Created: at, Finished: at.Add(9 * time.Second), Pipelines: 2},
		{Name: "b", Status: Finished, Created: at, Finished: at, Pipelines: 1},
	}}, ended)
	_, err = c.EndedJobs(t.Context(), Failed)
	require.ErrorContains(t, err, "asking for the failed jobs: status 500")
	require.Equal(t, []string{"/overview", "/finished-jobs/FINISHED", "/finished-jobs/FAILED"}, asked)

	cut, err := DecodeEndedJobs(strings.NewReader(`[{"jobStatus":"FAILED","errorMsg":"x.NoEnoughResourceException","createTime":"2026-11-29 12:34:54","finishTime":"2026-11-29 12:35:03"},`))
	require.NoError(t, err)
	require.Error(t, cut.Cut)
	require.True(t, cut.Jobs[0].Rejected)
}
