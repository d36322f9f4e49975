package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/jobs"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// fakeJobs takes every job, but for ids that are a status to answer with.
type fakeJobs struct {
	last       *jobs.Submission
	unreadable int
}

func (f fakeJobs) Submit(_ context.Context, cluster string, s jobs.Submission) (in string, job jobs.Submitted, err error) {
	if f.last != nil {
		*f.last = s
	}
	if cluster == "none" {
		return "", job, fmt.Errorf("%w: %q", jobs.ErrNoCluster, cluster)
	}
	if len(s.Config.Text) == 0 {
		return "", job, fmt.Errorf("%w: the config is empty", jobs.ErrInvalid)
	}
	if err := map[string]error{
		"409": jobs.ErrTaken, "422": control.ErrRefused, "502": errors.New("connection refused"),
		"504": control.ErrUnknownOutcome, "507": jobs.ErrFull, "500": jobs.ErrStore,
	}[s.ID]; err != nil {
		return "", job, fmt.Errorf("submitting: %w", err)
	}
	if s.ID == "" {
		s.ID = "4611686018427387905"
	}
	return "prod", jobs.Submitted{ID: s.ID, Name: s.Name, Kept: true}, nil
}

func (f fakeJobs) Kept(context.Context) (kept []jobs.Kept, unreadable int, err error) {
	return []jobs.Kept{{Cluster: "prod", ID: "4501", Name: "orders", Format: "json", At: tick.Add(-time.Hour), By: "ann"}}, f.unreadable, nil
}

func TestJobsThatCannotBeReadAreCounted(t *testing.T) {
	o := options(t)
	o.Jobs = fakeJobs{unreadable: 2}
	page := decoded[JobsPage](t, call(newHandler(t, o), "GET", "/autoscaler/jobs"))
	require.Len(t, page.Jobs, 1)
	require.Equal(t, 2, page.Unreadable)
}

func TestSubmitSaysWhoAndPassesTheTextOn(t *testing.T) {
	o, got, log := options(t), jobs.Submission{}, &strings.Builder{}
	o.Jobs, o.User = fakeJobs{last: &got}, func(context.Context) string { return "ann" }
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	reply := decoded[SubmittedJob](t, send(t, newHandler(t, o), "POST", "/autoscaler/jobs",
		`{"cluster":"prod","id":"7","name":"orders","format":"json","config":"{\"password\": \"hunter2\"}\n"}`))
	require.Equal(t, SubmittedJob{Cluster: "prod", Id: "7", Name: "orders", Kept: true}, reply)
	require.Equal(t, jobs.Submission{ID: "7", Name: "orders", By: "ann", Config: control.Config{Format: "json", Text: []byte("{\"password\": \"hunter2\"}\n")}}, got)
	require.Contains(t, log.String(), `msg="job submitted" cluster=prod job=7 name=orders`)
	require.NotContains(t, log.String(), "hunter2")
}

func TestSubmitRefusesEmptyFields(t *testing.T) {
	h := newHandler(t, options(t))
	for _, body := range []string{`"cluster":""`, `"cluster":null`, `"id":""`, `"id":null`} {
		rec := send(t, h, "POST", "/autoscaler/jobs", `{`+body+`,"name":"orders","format":"json","config":"{}"}`)
		require.Equal(t, http.StatusBadRequest, rec.Code)
		require.Contains(t, rec.Body.String(), "leave it out if it is not meant")
	}
}

// What the store says stays in the log; what Zeta says is told.
func TestSubmitFailures(t *testing.T) {
	h := newHandler(t, options(t))
	body := func(id string) string {
		return send(t, h, "POST", "/autoscaler/jobs", `{"id":"`+id+`","name":"orders","format":"json","config":"{}"}`).Body.String()
	}
	require.Contains(t, body("422"), "refused by Zeta")
	require.Contains(t, body("502"), "connection refused")
	require.NotContains(t, body("500"), jobs.ErrStore.Error())
}
