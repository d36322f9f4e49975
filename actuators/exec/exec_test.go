//go:build unix

package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	"github.com/zeta-scaler/zeta-scaler/actuators/request"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func newActuator(t testing.TB, change func(*Options), args ...string) *Actuator {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	o := Options{
		Command: program, Args: append([]string{"child"}, args...), Grace: 100 * time.Millisecond,
		Observe: true, Release: true, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	a, err := New(o)
	require.NoError(t, err)
	return a
}

func target() actuators.Target {
	return actuators.Target{
		Scope: scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "prod"}, {Name: "pool", Value: "a/b"}}),
		Name:  "racks/7",
	}
}

func fence() actuators.Fence {
	from := 2
	return actuators.Fence{
		Epoch: 3, Generation: 9, RecommendationID: "3-9-prod/a%2Fb", ActionID: "3-8-prod/a%2Fb", From: &from,
		Recommendation: scaling.Recommendation{Scope: "prod/a%2Fb", RecommendationID: "3-9-prod/a%2Fb", Reason: "2 jobs wait"},
	}
}

func TestConformance(t *testing.T) {
	for name, set := range map[string]func(o *Options){
		"observing":     func(o *Options) { o.Observe, o.Release = true, false },
		"blind":         func(o *Options) { o.Observe, o.Release = false, false },
		"releasing":     func(o *Options) { o.Observe, o.Release = true, true },
		"named workers": func(o *Options) { o.Observe, o.Release, o.Workers = false, true, []string{"w1", "w2", "w3"} },
	} {
		t.Run(name, func(t *testing.T) {
			actuatortest.RunConformance(t, func(t *testing.T) actuatortest.Fixture {
				dir := t.TempDir()
				mark := func(t *testing.T, name string) {
					require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
				}
				return actuatortest.Fixture{
					Actuator: newActuator(t, set, "platform", dir),
					Target:   target(),
					Desired:  func(*testing.T) int { return readState(dir).Desired },
					Stall: func(t *testing.T) func() {
						mark(t, "stall")
						return func() { require.NoError(t, os.Remove(filepath.Join(dir, "stall"))) }
					},
					LoseReply: func(t *testing.T) { mark(t, "lose") },
					Refuse:    func(t *testing.T) { mark(t, "refuse") },
					Fail:      func(t *testing.T) { mark(t, "fail") },
				}
			})
		})
	}
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		name    string
		args    []string
		want    string
		message string
	}{
		{"done", []string{"exit", "0", "", "a warning"}, "done", ""},
		{"refused", []string{"exit", "3", "", "no such rack"}, "refused", "exit status 3: no such rack"},
		{"stale", []string{"exit", "4", "", ""}, "stale", "exit status 4"},
		{"unknown", []string{"exit", "5", "", ""}, "unknown", "exit status 5"},
		{"try again", []string{"exit", "75", "", "locked"}, "plain", "exit status 75: locked"},
		{"anything else", []string{"exit", "1", "said on stdout", ""}, "plain", "exit status 1: said on stdout"},
		{"control characters", []string{"exit", "1", "", "two\nlines \x1b[31mred"}, "plain", "two lines [31mred"},
		{"a signal", []string{"suicide"}, "unknown", "signal: killed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newActuator(t, nil, test.args...)
			err := a.Scale(t.Context(), target(), 3, fence())
			require.Equal(t, test.want, actuatortest.Kind(err))
			if err == nil {
				return
			}
			require.ErrorContains(t, err, test.message)
			_, err = a.Observe(t.Context(), target())
			require.ErrorContains(t, err, test.message)
			require.NotErrorIs(t, err, actuators.ErrUnknownOutcome, "an observation changes nothing")
		})
	}
}

func TestCommandThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "no-interpreter")
	require.NoError(t, os.WriteFile(script, []byte("echo hello\n"), 0o700))
	plain := filepath.Join(dir, "not-executable")
	require.NoError(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	for name, command := range map[string]string{
		"no such file": filepath.Join(dir, "missing"), "not in PATH": "zeta-scaler-no-such-command",
		"not executable": plain, "no interpreter line": script,
	} {
		t.Run(name, func(t *testing.T) {
			a := newActuator(t, func(o *Options) { o.Command = command })
			require.ErrorIs(t, a.Scale(t.Context(), target(), 3, fence()), actuators.ErrRefused)
		})
	}
}

func TestRequest(t *testing.T) {
	t.Setenv("ZETA_SCALER__PROMETHEUS__PASSWORD", "of ours")
	t.Setenv("ZETA_SCALER_WANT", "99")
	t.Setenv("OF_THE_OPERATOR", "kept")
	for _, test := range []struct {
		verb string
		call func(a *Actuator) error
		json string
		env  []string
	}{
		{
			"scale", func(a *Actuator) error { return a.Scale(t.Context(), target(), 3, fence()) },
			`{"verb":"scale","scope":"prod/a%2Fb","labels":{"cluster":"prod","pool":"a/b"},"target":"racks/7","want":3,"from":2,"atLeast":true,
			"masterEpoch":3,"generation":9,"recommendationId":"3-9-prod/a%2Fb","actionId":"3-8-prod/a%2Fb"}`,
			[]string{"ACTION_ID=3-8-prod/a%2Fb", "AT_LEAST=true", "EPOCH=3", "FROM=2", "GENERATION=9", "RECOMMENDATION_ID=3-9-prod/a%2Fb", "SCOPE=prod/a%2Fb", "TARGET=racks/7", "VERB=scale", "WANT=3"},
		},
		{
			"release", func(a *Actuator) error {
				return a.Release(t.Context(), target(), []actuators.Worker{{Name: "w1", Address: "w1:5801"}}, fence())
			},
			`{"verb":"release","scope":"prod/a%2Fb","labels":{"cluster":"prod","pool":"a/b"},"target":"racks/7","from":2,
			"masterEpoch":3,"generation":9,"recommendationId":"3-9-prod/a%2Fb","actionId":"3-8-prod/a%2Fb","workers":[{"name":"w1","address":"w1:5801"}]}`,
			[]string{
				"ACTION_ID=3-8-prod/a%2Fb", "EPOCH=3", "FROM=2", "GENERATION=9", "RECOMMENDATION_ID=3-9-prod/a%2Fb", "SCOPE=prod/a%2Fb", "TARGET=racks/7", "VERB=release",
				"WORKER=w1", "WORKER_ADDRESS=w1:5801",
			},
		},
		{
			"workers", func(a *Actuator) error {
				_, err := a.Workers(t.Context(), target())
				require.ErrorContains(t, err, "unknown field", "the echo is no list of workers")
				return nil
			},
			`{"verb":"workers","scope":"prod/a%2Fb","labels":{"cluster":"prod","pool":"a/b"},"target":"racks/7"}`,
			[]string{"SCOPE=prod/a%2Fb", "TARGET=racks/7", "VERB=workers"},
		},
		{
			"observe", func(a *Actuator) error {
				_, err := a.Observe(t.Context(), target())
				require.ErrorContains(t, err, "unknown field", "the echo is no observation")
				return nil
			},
			`{"verb":"observe","scope":"prod/a%2Fb","labels":{"cluster":"prod","pool":"a/b"},"target":"racks/7"}`,
			[]string{"SCOPE=prod/a%2Fb", "TARGET=racks/7", "VERB=observe"},
		},
	} {
		t.Run(test.verb, func(t *testing.T) {
			var log bytes.Buffer
			a := newActuator(t, func(o *Options) {
				o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			}, "echo")
			require.NoError(t, test.call(a))
			stdin, env := echoed(t, log.Bytes())
			require.Contains(t, env, "OF_THE_OPERATOR=kept")
			var own []string
			for _, v := range env {
				require.NotContains(t, v, "of ours")
				if name, ok := strings.CutPrefix(v, "ZETA_SCALER_"); ok {
					own = append(own, name)
				}
			}
			require.ElementsMatch(t, test.env, own)
			if test.verb == "scale" {
				var r scaling.Recommendation
				require.NoError(t, json.Unmarshal(stdin["recommendation"], &r))
				require.Equal(t, fence().Recommendation, r)
			}
			delete(stdin, "recommendation")
			b, err := json.Marshal(stdin)
			require.NoError(t, err)
			require.JSONEq(t, test.json, string(b))
		})
	}
}

// echoed is what the command "echo" was given, taken from the log.
func echoed(t *testing.T, line []byte) (stdin map[string]json.RawMessage, env []string) {
	t.Helper()
	var logged struct{ Stdout string }
	require.NoError(t, json.Unmarshal(line, &logged))
	var out struct {
		Stdin       map[string]json.RawMessage
		Environment []string
	}
	require.NoError(t, json.Unmarshal([]byte(logged.Stdout), &out))
	return out.Stdin, out.Environment
}

func TestOutputIsBounded(t *testing.T) {
	var log bytes.Buffer
	a := newActuator(t, func(o *Options) { o.Logger = slog.New(slog.NewJSONHandler(&log, nil)) }, "flood")
	require.NoError(t, a.Scale(t.Context(), target(), 3, fence()))
	var logged struct{ Stderr string }
	require.NoError(t, json.Unmarshal(log.Bytes(), &logged))
	require.LessOrEqual(t, len(logged.Stderr), maxOutput)
	require.True(t, strings.HasSuffix(logged.Stderr, "the last line"))

	_, err := a.Observe(t.Context(), target())
	require.ErrorContains(t, err, "more than 65536 bytes")
}

// connections listens for the processes of a test, which hold one each.
func connections(t *testing.T) (address string, accept func() net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l.Addr().String(), func() net.Conn {
		require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(30*time.Second)))
		c, err := l.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// gone waits until the process that holds c has ended.
func gone(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err := c.Read(make([]byte, 1))
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the process lives on")
	require.Error(t, err)
}

func TestTimeoutEndsAllProcesses(t *testing.T) {
	for name, byCaller := range map[string]bool{"time-out": false, "context": true} {
		t.Run(name, func(t *testing.T) {
			address, accept := connections(t)
			timeout := 2 * time.Second // enough for two processes to start on a busy machine
			if byCaller {
				timeout = time.Hour
			}
			a := newActuator(t, func(o *Options) { o.Timeout = timeout }, "stubborn", address)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- a.Scale(ctx, target(), 3, fence()) }()
			command, grandchild := accept(), accept()
			if byCaller {
				cancel()
			}
			err := <-done
			require.ErrorIs(t, err, actuators.ErrUnknownOutcome)
			require.ErrorContains(t, err, "stopped after")
			require.Equal(t, byCaller, errors.Is(err, context.Canceled))
			gone(t, command)
			gone(t, grandchild)
		})
	}
}

func TestCommandThatLeavesAProcessIsDone(t *testing.T) {
	address, accept := connections(t)
	var log bytes.Buffer
	a := newActuator(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, "leave", address)
	require.NoError(t, a.Scale(t.Context(), target(), 3, fence()))
	require.Contains(t, log.String(), "left processes that hold its output open")
	// It lives, and ends with the connection that it holds.
	c := accept()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestOptions(t *testing.T) {
	_, err := New(Options{Timeout: -1, Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "command: required")
	require.ErrorContains(t, err, "must not be negative")

	a, err := New(Options{Command: "x", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.Equal(t, actuators.Capabilities{}, a.Capabilities())
	require.Equal(t, DefaultTimeout, a.o.Timeout)
	_, err = a.Observe(t.Context(), target())
	require.ErrorIs(t, err, actuators.ErrUnsupported)
}

func TestEnvironmentWithoutFrom(t *testing.T) {
	f := fence()
	f.From = nil
	env := environment([]string{"PATH=/bin", "zeta_scaler__x=secret"}, request.ToScale(target(), 0, f))
	require.Contains(t, env, "PATH=/bin")
	require.Contains(t, env, "ZETA_SCALER_WANT=0")
	for _, v := range env {
		require.NotContains(t, v, "FROM")
		require.NotContains(t, v, "secret")
	}
}

func TestReleaseOfACommandThatKnowsIt(t *testing.T) {
	a := newActuator(t, nil, "exit", "3", "", "it has jobs")
	require.Equal(t, actuators.Capabilities{Observes: true, Releases: true, Chooses: true, Lists: true}, a.Capabilities())
	err := a.Release(t.Context(), target(), []actuators.Worker{{Name: "w1"}}, fence())
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "it has jobs")
}

// Names that the configuration has are those that may be released, and the
// command is not asked for them.
func TestConfiguredNames(t *testing.T) {
	a := newActuator(t, func(o *Options) { o.Workers = []string{"w2", "w1"} }, "exit", "1", "", "not asked")
	require.Equal(t, actuators.Capabilities{Observes: true, Releases: true, Chooses: true}, a.Capabilities())
	workers, err := a.Workers(t.Context(), target())
	require.NoError(t, err)
	require.Equal(t, []actuators.Worker{{Name: "w2"}, {Name: "w1"}}, workers)

	for _, test := range []struct {
		o    Options
		said []string
	}{
		{Options{Workers: []string{"a", "b"}, Release: true}, nil},
		{Options{Workers: []string{"a", "", "a"}, Release: true}, []string{"workers has an empty name", `workers names "a" twice`}},
		{Options{Workers: []string{"a"}}, []string{"workers names workers for the verb release, which the command does not know: set release: true"}},
	} {
		var said []string
		test.o.Check(func(key, format string, args ...any) { said = append(said, fmt.Sprintf(key+" "+format, args...)) })
		require.Equal(t, test.said, said)
	}
}
