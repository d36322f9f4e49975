package control

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubmit(t *testing.T) {
	e, r := newV1(t, map[string]string{
		v1do + "/submit-job?jobId=4501&jobName=orders": ok(`{"jobId":"4501","jobName":"orders"}`),
	})
	require.NoError(t, e.Submit(t.Context(), "4501", "orders", Config{Format: "json", Text: []byte(`{"env":{}}`)}))
	require.Contains(t, r.last(), `{"env":{}}`)
	require.ErrorIs(t, e.Submit(t.Context(), "4501", "orders", Config{Format: "sql", Text: []byte(`x`)}), ErrUnsupported)
}

// Zeta quotes what it cannot read of a config, and that goes to logs, alerts and the
// page.
func TestNoSecretInAnError(t *testing.T) {
	const restore = v1do + "/submit-job?isStartWithSavePoint=true&jobId=7&jobName=n"
	secrets := []string{"hunter2", "hunter2-and-more", "ab", strings.Repeat("s3cret", 40)}
	for name, reply := range map[string]string{
		"500":            fails("500", "Expecting close brace but got hunter2-and-more and hunter2"),
		"fails with 200": fails("200", "java.lang.IllegalStateException: hunter2"),
		"unknown":        fails("500", "MemberLeftException: hunter2"),
		"cut off":        fails("500", "got "+strings.Repeat("s3cret", 40)),
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newV1(t, map[string]string{restore: reply})
			err := e.Restore(t.Context(), "7", "n", Config{Text: []byte(`{}`), Secrets: secrets})
			require.Error(t, err)
			require.True(t, errors.Is(err, ErrRefused) || errors.Is(err, ErrUnknownOutcome))
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, err.Error(), "s3cret")
			require.NotContains(t, err.Error(), "and-more")
		})
	}
}

func TestHolds(t *testing.T) {
	hold := Job{
		Name: "zeta-scaler-hold-w1", Mode: Streaming, Sources: []string{"FakeSource"}, Sinks: []string{"Console"},
		Env: map[string]string{"job.retry.times": "0", "job.mode": "STREAMING", "tag_filter": "{worker=w1}", "checkpoint.interval": "3600000", "parallelism": "3"},
	}
	require.True(t, hold.Holds("w1"))
	require.True(t, Job{Name: hold.Name}.Holds("w1"), "Zeta does not tell more")
	require.False(t, hold.Holds("w"))
	require.False(t, hold.Holds("w12"))
	other := hold
	other.Sinks = []string{"Jdbc", "Console"}
	require.False(t, other.Holds("w1"))
}
