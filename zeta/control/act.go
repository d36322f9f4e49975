package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// actWithin is how long the reply to a submission or a stop is waited for: a
// cold master takes seconds to make its first plan of a job.
const actWithin = 10 * time.Second

// StopWithSavepoint asks for a stop; Job says when it is done, or that it never
// will be. Zeta says yes to any id, also to one that it does not know.
func (e *Engine) StopWithSavepoint(ctx context.Context, id string) error {
	return e.stop(ctx, id, true)
}

// Cancel ends a job. It takes the job's savepoints with it, and is for the jobs
// of Hold.
func (e *Engine) Cancel(ctx context.Context, id string) error { return e.stop(ctx, id, false) }

func (e *Engine) stop(ctx context.Context, id string, savepoint bool) error {
	n, err := parseID(id)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"jobId": n, "isStopWithSavePoint": savepoint})
	if err != nil {
		return fmt.Errorf("stopping job %s: %w", id, err)
	}
	if err := e.act(ctx, zeta.Request{Path: "/stop-job", Body: body}, id); err != nil {
		return fmt.Errorf("stopping job %s: %w", id, err)
	}
	return nil
}

// Restore submits the job again under its own id, from its savepoint. Zeta
// ignores that silently while the job has not ended, and starts from the
// beginning if it finds no savepoint: look before, and after.
func (e *Engine) Restore(ctx context.Context, id, name string, c Config) error {
	query := url.Values{"jobId": {id}, "jobName": {name}, "isStartWithSavePoint": {"true"}}
	if err := e.submit(ctx, id, query, c); err != nil {
		return fmt.Errorf("restoring job %s: %w", id, err)
	}
	return nil
}

// Hold submits a job that takes all slots of a worker and does nothing, under an
// id of the caller's choice. It needs fixed slots, at least two: with dynamic
// ones it holds nothing.
func (e *Engine) Hold(ctx context.Context, id, worker string, slots int) error {
	if e.attribute == "" {
		return fmt.Errorf("holding worker %q: no member attribute tells the workers apart: %w", worker, ErrUnsupported)
	}
	if slots < 2 {
		return fmt.Errorf("holding worker %q: the smallest job needs 2 slots, and it has %d: %w", worker, slots, ErrUnsupported)
	}
	text, err := json.Marshal(placeholder(e.attribute, worker, slots))
	if err != nil {
		return fmt.Errorf("holding worker %q: %w", worker, err)
	}
	query := url.Values{"jobId": {id}, "jobName": {zeta.HoldPrefix + worker}}
	if err := e.submit(ctx, id, query, Config{Text: text}); err != nil {
		return fmt.Errorf("holding worker %q: %w", worker, err)
	}
	return nil
}

// placeholder is a job with one task group per slot: the source's enumerator and
// its readers. It fails with its worker instead of going elsewhere, and reads
// one row in a day.
func placeholder(attribute, worker string, slots int) map[string]any {
	const table = "slots_held_by_zeta_scaler_until_the_worker_is_gone"
	return map[string]any{
		"env": map[string]any{
			"job.mode": "STREAMING", "parallelism": slots - 1, "job.retry.times": 0,
			"checkpoint.interval": 3_600_000, "tag_filter": map[string]string{attribute: worker},
		},
		"source": []any{map[string]any{
			"plugin_name": "FakeSource", "result_table_name": table, "parallelism": slots - 1,
			"row.num": 1, "split.num": 1, "split.read-interval": 86_400_000,
			"schema": map[string]any{"fields": map[string]string{"n": "int"}},
		}},
		"transform": []any{},
		"sink":      []any{map[string]any{"plugin_name": "Console", "source_table_name": table}},
	}
}

func (e *Engine) submit(ctx context.Context, id string, query url.Values, c Config) error {
	if _, err := parseID(id); err != nil {
		return err
	}
	if c.Format != "" && c.Format != "json" {
		node, err := e.client.Node(ctx)
		if err != nil {
			return err
		}
		if node.Version.Before(2, 3, 9) {
			return fmt.Errorf("its config is in %s, and this version takes JSON alone: %w", c.Format, ErrUnsupported)
		}
		query.Set("format", c.Format)
	}
	body := c.Text
	if body == nil {
		body = []byte{}
	}
	return withoutSecrets(e.act(ctx, zeta.Request{Path: "/submit-job", Query: query, Body: body}, id), c.Secrets)
}

// act sends a request that changes something and says what is known of it then.
func (e *Engine) act(ctx context.Context, r zeta.Request, id string) error {
	r.Within = actWithin
	_, err := zeta.Ask(ctx, e.client, r, func(r io.Reader) (struct{}, error) { return struct{}{}, decodeDone(r, id) })
	return outcome(err)
}

// decodeDone reads what /stop-job and /submit-job answer: the id.
func decodeDone(r io.Reader, id string) error {
	var body struct {
		wireFailure
		ID zeta.Text `json:"jobId"`
	}
	if err := zeta.DecodeWhole(r, &body); err != nil {
		return err
	}
	if err := body.err(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if string(body.ID) != id {
		return fmt.Errorf("it is about job %q", outgoing.OneLine(string(body.ID), 40))
	}
	return nil
}

// outcome says of a failed request whether it was refused, or may have been
// carried out, or neither: then it was not sent.
func outcome(err error) error {
	e, said := errors.AsType[*zeta.StatusError](err)
	switch {
	case err == nil, errors.Is(err, ErrRefused):
		return err
	case errors.Is(err, zeta.ErrNoReply), said && (e.Code < 400 || e.Code >= 500 && passing(e)):
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case said && e.Code != http.StatusTooManyRequests && e.Code != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// passing reports whether a failure is of the cluster's state rather than of the
// request: a member leaves, a master begins, or something on the way has failed.
func passing(e *zeta.StatusError) bool {
	if e.Message == "" {
		return true
	}
	return slices.ContainsFunc([]string{
		"MemberLeftException", "TargetNotMemberException", "TargetDisconnectedException", "Target cannot be null",
		"HazelcastInstanceNotActiveException", "OperationTimeoutException", "RetryableHazelcastException",
	}, e.Mentions)
}
