package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/jobs"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// errNoJobs says that no job can be passed on.
func errNoJobs() error {
	return refuse(http.StatusNotImplemented, "this process knows no Zeta cluster: list it in clusters")
}

// GetJobs lists the jobs whose configs are kept.
func (s *server) GetJobs(c echo.Context) error {
	if s.Jobs == nil {
		return errNoJobs()
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	kept, unreadable, err := s.Jobs.Kept(ctx)
	if err != nil {
		return s.storeFailure(err)
	}
	return c.JSON(http.StatusOK, JobsPage{Jobs: listed(kept), Unreadable: unreadable})
}

// PostJobs passes a job on to Zeta and keeps its config.
func (s *server) PostJobs(c echo.Context) error {
	var req JobRequest
	if err := decodeBody(c, &req, false); err != nil {
		return err
	}
	if s.Jobs == nil {
		return errNoJobs()
	}
	for name, field := range map[string]Optional[string]{"cluster": req.Cluster, "id": req.ID} {
		if field.Set && (field.Value == nil || *field.Value == "") {
			return refuse(http.StatusBadRequest, `invalid body: "`+name+`" is empty; leave it out if it is not meant`)
		}
	}
	ctx := c.Request().Context()
	in, job, err := s.Jobs.Submit(ctx, valueOf(req.Cluster), jobs.Submission{
		ID: valueOf(req.ID), Name: req.Name, By: s.user(ctx),
		Config: control.Config{Format: req.Format, Text: []byte(req.Config)},
	})
	if err != nil {
		return submitFailure(err)
	}
	s.Logger.Info("job submitted", "cluster", in, "job", job.ID, "name", job.Name, "kept", job.Kept, "again", job.Again,
		"who", s.user(ctx), "from", c.RealIP())
	return c.JSON(http.StatusOK, SubmittedJob{Cluster: in, Id: job.ID, Name: job.Name, Kept: job.Kept, Again: job.Again})
}

func valueOf(o Optional[string]) string {
	if o.Value == nil {
		return ""
	}
	return *o.Value
}

// submitFailure is what a caller learns of a job that was not submitted. Who may
// submit may read what Zeta says.
func submitFailure(err error) error {
	status := http.StatusBadGateway
	for _, known := range []struct {
		err    error
		status int
	}{
		{jobs.ErrInvalid, http.StatusBadRequest},
		{jobs.ErrNoCluster, http.StatusNotFound},
		{jobs.ErrTaken, http.StatusConflict},
		{jobs.ErrNoKeys, http.StatusNotImplemented},
		{jobs.ErrFull, http.StatusInsufficientStorage},
		{control.ErrRefused, http.StatusUnprocessableEntity},
		{control.ErrUnsupported, http.StatusUnprocessableEntity},
		{control.ErrUnknownOutcome, http.StatusGatewayTimeout},
		{jobs.ErrStore, http.StatusInternalServerError},
	} {
		if errors.Is(err, known.err) {
			status = known.status
			break
		}
	}
	if status == http.StatusInternalServerError {
		return fail(status, "the state store failed; the log says why", err)
	}
	return &failure{Problem: problem(status, strings.TrimPrefix(err.Error(), jobs.ErrInvalid.Error()+": ")), cause: err}
}
