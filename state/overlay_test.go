package state_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Whatever was set over whatever is configured: no scope has a minimum above its
// maximum, none acts that must not, and what does not count is said.
func TestOverlayKeepsTheLaw(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Ptr(rapid.IntRange(1, 9), true)
		modes := rapid.SampledFrom([]scaling.Mode{scaling.Advisory, scaling.Webhook, scaling.Direct})
		timed := func(name string) *scaling.TimedBound {
			n := count.Draw(t, name)
			if n == nil {
				return nil
			}
			return &scaling.TimedBound{Workers: *n, Until: now.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "end")) * time.Hour)}
		}
		least := rapid.IntRange(1, 9).Draw(t, "configured minimum")
		conf := state.Configured{Mode: scaling.Advisory, Bounds: scaling.Bounds{Min: least, Max: scaling.Unbounded}}
		if rapid.Bool().Draw(t, "bounded") {
			conf.Bounds.Max = rapid.IntRange(least, 9).Draw(t, "configured maximum")
			if conf.Listed = rapid.Bool().Draw(t, "listed"); conf.Listed {
				conf.Mode = modes.Draw(t, "configured mode")
			}
		}
		c := state.ControlRecord{
			MinWorkers: count.Draw(t, "min"), MaxWorkers: count.Draw(t, "max"), Mode: rapid.Ptr(modes, true).Draw(t, "mode"),
			MinTimed: timed("timed min"), MaxTimed: timed("timed max"),
		}
		is := c.Overlay(conf, now)
		require.LessOrEqual(t, is.Bounds.Min, is.Bounds.Max)
		if c.MaxTimed != nil && now.Before(c.MaxTimed.Until) {
			require.Equal(t, c.MaxTimed.Workers, is.Bounds.Max, "what holds until a time goes before all")
		}
		if is.Mode != scaling.Advisory {
			require.True(t, conf.Listed)
			require.NotEqual(t, scaling.Unbounded, is.Bounds.Max)
		}
		if c.Empty() {
			require.Equal(t, state.Effective{Bounds: conf.Bounds, Mode: conf.Mode}, is)
		}
		wanted := c.Mode != nil && *c.Mode != is.Mode
		require.Equal(t, wanted, wanted && len(is.Conflicts) > 0)
		require.Equal(t, is, c.At(now).Overlay(conf, now), "what is over does not count")
	})
}
