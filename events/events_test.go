package events_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// handlerFunc is a handler made of a function.
type handlerFunc func(ctx context.Context, e scaling.Event) error

func (f handlerFunc) Handle(ctx context.Context, e scaling.Event) error { return f(ctx, e) }

// recorder keeps the messages that it is told.
type recorder struct {
	mu   sync.Mutex
	told []string
}

func (r *recorder) Handle(_ context.Context, e scaling.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, e.Message)
	return nil
}

func (r *recorder) messages() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.told...)
}

// output is a log that can be read beside its writers.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) count(text string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Count(o.b.String(), text)
}

func logger(o *output) *slog.Logger {
	return slog.New(slog.NewTextHandler(o, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func message(n int) scaling.Event {
	return scaling.Event{Kind: scaling.EventScalingReport, Message: fmt.Sprint(n)}
}

// start runs a dispatcher for the rest of the test; the returned function ends
// it and returns what Run said.
func start(t *testing.T, o events.Options) (*events.Dispatcher, func() error) {
	t.Helper()
	d := events.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return d, func() error {
		cancel()
		return <-done
	}
}

func TestEveryHandlerIsToldInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b recorder
		d, stop := start(t, events.Options{
			Handlers: map[string]events.Handler{"a": &a, "b": &b}, Logger: logger(&output{}),
		})
		for n := range 3 {
			d.Emit(message(n))
		}
		synctest.Wait()
		require.Equal(t, []string{"0", "1", "2"}, a.messages())
		require.Equal(t, a.messages(), b.messages())
		require.NoError(t, stop())
	})
}

func TestOneFailureNeverStopsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var good recorder
		var out output
		fail := true
		reg := prometheus.NewPedanticRegistry()
		d, stop := start(t, events.Options{
			Handlers: map[string]events.Handler{
				"a-failing": handlerFunc(func(context.Context, scaling.Event) error {
					if fail {
						return errors.New("connection refused")
					}
					return nil
				}),
				"b-panicking": handlerFunc(func(context.Context, scaling.Event) error { panic("nil map") }),
				"c-hanging": handlerFunc(func(ctx context.Context, _ scaling.Event) error {
					<-ctx.Done()
					return ctx.Err()
				}),
				"d-good": &good,
			},
			Logger: logger(&out), Registerer: reg, Timeout: time.Minute,
		})
		d.Emit(message(1))
		d.Emit(message(2))
		synctest.Wait()
		require.Equal(t, []string{"1", "2"}, good.messages())
		require.Equal(t, 1, out.count("connection refused"), "logged once per change of state")
		require.Equal(t, 1, out.count("handler panicked: nil map"))

		fail = false
		d.Emit(message(3))
		d.Emit(message(4))
		<-time.After(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, 1, out.count("works again"))
		require.Equal(t, 1, out.count("context deadline exceeded"))
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP zeta_scaler_events_total Events by handler and by what became of them: handled, failed or dropped.
# TYPE zeta_scaler_events_total counter
zeta_scaler_events_total{handler="a-failing",result="dropped"} 0
zeta_scaler_events_total{handler="a-failing",result="failed"} 2
zeta_scaler_events_total{handler="a-failing",result="handled"} 2
zeta_scaler_events_total{handler="b-panicking",result="dropped"} 0
zeta_scaler_events_total{handler="b-panicking",result="failed"} 4
zeta_scaler_events_total{handler="b-panicking",result="handled"} 0
zeta_scaler_events_total{handler="c-hanging",result="dropped"} 0
zeta_scaler_events_total{handler="c-hanging",result="failed"} 4
zeta_scaler_events_total{handler="c-hanging",result="handled"} 0
zeta_scaler_events_total{handler="d-good",result="dropped"} 0
zeta_scaler_events_total{handler="d-good",result="failed"} 0
zeta_scaler_events_total{handler="d-good",result="handled"} 4
`)))
		problems, err := testutil.GatherAndLint(reg)
		require.NoError(t, err)
		require.Empty(t, problems)
		require.NoError(t, stop())
	})
}

func TestSlowHandlerNeverBlocksAndLosesTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told recorder
		var out output
		release := make(chan struct{})
		d, stop := start(t, events.Options{
			Handlers: map[string]events.Handler{"slow": handlerFunc(func(ctx context.Context, e scaling.Event) error {
				<-release
				return told.Handle(ctx, e)
			})},
			Capacity: 3, Logger: logger(&out),
		})
		d.Emit(message(0))
		synctest.Wait() // 0 is being handled
		for n := 1; n <= 10; n++ {
			d.Emit(message(n))
		}
		require.Equal(t, 1, out.count("its oldest events are dropped"))
		close(release)
		synctest.Wait()
		require.Equal(t, []string{"0", "8", "9", "10"}, told.messages())
		require.Equal(t, 1, out.count("has caught up"))
		require.NoError(t, stop())
	})
}

func TestStopHandlesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told recorder
		d, stop := start(t, events.Options{
			Handlers: map[string]events.Handler{"slow": handlerFunc(func(ctx context.Context, e scaling.Event) error {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return ctx.Err()
				}
				return told.Handle(ctx, e)
			})},
			DrainTimeout: 10 * time.Second, Logger: logger(&output{}),
		})
		for n := range 4 {
			d.Emit(message(n))
		}
		require.NoError(t, stop())
		require.Equal(t, []string{"0", "1", "2", "3"}, told.messages())
	})
}

func TestStopLeavesAStuckHandlerBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		d, stop := start(t, events.Options{
			Handlers: map[string]events.Handler{"stuck": handlerFunc(func(context.Context, scaling.Event) error {
				<-stuck // whatever its context says
				return nil
			})},
			DrainTimeout: 2 * time.Second, Logger: logger(&output{}),
		})
		for n := range 4 {
			d.Emit(message(n))
		}
		synctest.Wait()
		began := time.Now()
		require.ErrorContains(t, stop(), "not done after 2s, 3 events are lost")
		require.Equal(t, 2*time.Second, time.Since(began))
		close(stuck)
		synctest.Wait()
	})
}

func TestChangedDecisionsAreRecommended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []scaling.Event
		d, stop := start(t, events.Options{
			Handlers: map[string]events.Handler{"x": handlerFunc(func(_ context.Context, e scaling.Event) error {
				got = append(got, e)
				return nil
			})},
			Logger: logger(&output{}),
		})
		four, five := 4, 5
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		changed := scaling.Evaluation{
			Scope:   scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "prod"}}),
			Changed: true, Tick: at,
			Recommendation: scaling.Recommendation{
				Action: scaling.ScaleOut, Reason: "average CPU 0.91 > 0.80; 4 → 5 workers",
				CurrentWorkers: &four, RecommendedWorkers: &five,
			},
		}
		evaluations := []scaling.Evaluation{changed, {Scope: scaling.NewScope(nil)}}
		want := changed.Recommendation
		d.Publish(t.Context(), evaluations, nil)
		evaluations[0] = scaling.Evaluation{} // the caller's slice is its own again
		synctest.Wait()
		require.Equal(t, []scaling.Event{{
			Kind: scaling.EventRecommendedWorkers, Severity: scaling.Normal, Scope: changed.Scope,
			Message:        "SCALE_OUT: average CPU 0.91 > 0.80; 4 → 5 workers",
			Recommendation: &want, At: at,
		}}, got)
		require.NoError(t, stop())
	})
}

func TestLog(t *testing.T) {
	four, five := 4, 5
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	scope := scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "prod"}})
	for name, tc := range map[string]struct {
		event scaling.Event
		want  string
	}{
		"a recommendation": {
			scaling.Event{
				Kind: scaling.EventRecommendedWorkers, Severity: scaling.Normal, Scope: scope, Message: "SCALE_OUT: why", At: at,
				Recommendation: &scaling.Recommendation{
					RecommendationID: "3-12-prod", Action: scaling.ScaleOut, Row: scaling.RowSaturated,
					CurrentWorkers: &four, RecommendedWorkers: &five, RecommendationOnly: true,
				},
			},
			`level=INFO msg="SCALE_OUT: why" kind=RecommendedWorkers scope=prod at=2026-01-02T03:04:05Z ` +
				`recommendation_id=3-12-prod action=SCALE_OUT row=saturated current_workers=4 recommended_workers=5 recommendation_only=true`,
		},
		"unknown counts": {
			scaling.Event{
				Kind: scaling.EventRecommendedWorkers, Severity: scaling.Normal, Scope: scope, Message: "m", At: at,
				Recommendation: &scaling.Recommendation{Action: scaling.NoAction, Row: scaling.RowWorkersUnknown},
			},
			`level=INFO msg=m kind=RecommendedWorkers scope=prod at=2026-01-02T03:04:05Z recommendation_id="" ` +
				`action=NO_ACTION row=workers_unknown current_workers=unknown recommended_workers=unknown recommendation_only=false`,
		},
		"an exception": {
			scaling.Event{
				Kind: scaling.EventScalingException, Severity: scaling.SeverityOf(scaling.EventScalingException),
				Scope: scope, Message: "quota exceeded", At: at,
			},
			`level=WARN msg="quota exceeded" kind=ScalingException scope=prod at=2026-01-02T03:04:05Z`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out output
			require.NoError(t, events.NewLog(logger(&out)).Handle(t.Context(), tc.event))
			require.Equal(t, tc.want+"\n", out.b.String())
		})
	}
}
