package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/request"
)

// Exit codes of the command. 0 is done; any other that is not listed here is
// not done, as ExitTryAgain.
const (
	// ExitRefused: it will not be done, however often it is asked.
	ExitRefused = 3
	// ExitStale: a newer leader (a greater masterEpoch) has asked before.
	ExitStale = 4
	// ExitUnknown: it may have been done, the command cannot tell.
	ExitUnknown = 5
	// ExitTryAgain: it was not done, another attempt may work (EX_TEMPFAIL).
	ExitTryAgain = 75
)

const (
	// maxOutput is how much is kept of each of the command's outputs, in bytes;
	// maxExcerpt how much of it an error quotes.
	maxOutput  = 64 << 10
	maxExcerpt = 300
	// ownVariables begins the names of our environment variables. Those that we
	// were started with may hold secrets, and those of the request must not be
	// left over from elsewhere.
	ownVariables = "ZETA_SCALER_"
)

// ending is how the command came to its end.
type ending int

const (
	exited ending = iota
	// killed by us, because its time was over.
	killed
	// died of a signal that was not ours.
	died
)

// result is one run of the command.
type result struct {
	end            ending
	code           int    // if it exited
	state          string // for people, such as "exit status 3"
	took           time.Duration
	stdout, stderr tail
}

// run runs the command to its end. An error says that it was not started.
func (a *Actuator) run(ctx context.Context, q request.Request) (*result, error) {
	stdin, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("%w: writing the request: %w", actuators.ErrRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.o.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.o.Command, a.o.Args...)
	cmd.Env = environment(os.Environ(), q)
	r := &result{}
	cmd.Stdout, cmd.Stderr = &r.stdout, &r.stderr
	// After the grace, Wait kills what is left of the command itself, and closes
	// the outputs, which a grandchild may hold open for ever.
	cmd.WaitDelay = a.o.Grace
	ownGroup(cmd)
	stopped := false
	cmd.Cancel = func() error {
		err := terminate(cmd.Process)
		stopped = err == nil
		return err
	}
	started, err := handOver(cmd, stdin)
	if err != nil {
		return nil, fmt.Errorf("starting: a pipe for the request: %w", err)
	}
	// See dieWithUs.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	err = cmd.Start()
	ended := started()
	if err != nil {
		ended()
		return nil, notStarted(err)
	}
	err = cmd.Wait()
	ended()
	if stopped {
		kill(cmd.Process)
	}
	r.took, r.code, r.state = time.Since(start), cmd.ProcessState.ExitCode(), cmd.ProcessState.String()
	switch {
	case stopped:
		r.end = killed
	case r.code < 0:
		r.end = died
	}
	if !stopped && errors.Is(err, exec.ErrWaitDelay) {
		a.o.Logger.WarnContext(ctx, "the command ended and left processes that hold its output open; redirect theirs, or they get SIGPIPE", "verb", q.Verb, "scope", q.Scope)
	}
	a.report(ctx, q, r)
	return r, nil
}

// notStarted says whether another attempt could start the command.
func notStarted(err error) error {
	for _, lasting := range []error{exec.ErrNotFound, exec.ErrDot, fs.ErrNotExist, fs.ErrPermission, syscall.ENOEXEC} {
		if errors.Is(err, lasting) {
			return fmt.Errorf("%w: starting: %w", actuators.ErrRefused, err)
		}
	}
	return fmt.Errorf("starting: %w", err)
}

// report logs one run with all that it wrote.
func (a *Actuator) report(ctx context.Context, q request.Request, r *result) {
	level := slog.LevelInfo
	switch {
	case r.end != exited || r.code != 0:
		level = slog.LevelWarn
	case q.Verb == request.Observe || q.Verb == request.Workers:
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("verb", string(q.Verb)), slog.String("scope", q.Scope), slog.String("target", q.Target),
		slog.String("ended", r.state), slog.Duration("took", r.took.Round(time.Millisecond)),
		slog.String("stdout", r.stdout.text()), slog.String("stderr", r.stderr.text()),
	}
	if q.Want != nil {
		attrs = append(attrs, slog.Int("want", *q.Want), slog.String("action_id", q.ActionID))
	}
	for _, w := range q.Workers {
		attrs = append(attrs, slog.String("worker", w.Name), slog.String("action_id", q.ActionID))
	}
	a.o.Logger.LogAttrs(ctx, level, "the command of the actuator ended", attrs...)
}

// verdict says what the end of a command that was to change something means.
//
// A command that fails may have done a part of its work. The request says how
// many workers there shall be in all, so that doing it again is harmless, and a
// plain failure is taken for one that may be tried again.
func (r *result) verdict() error {
	switch {
	case r.end != exited:
		return fmt.Errorf("%w: %s", actuators.ErrUnknownOutcome, r.describe())
	case r.code == 0:
		return nil
	case r.code == ExitRefused:
		return fmt.Errorf("%w: %s", actuators.ErrRefused, r.describe())
	case r.code == ExitStale:
		return fmt.Errorf("%w: %s", actuators.ErrStale, r.describe())
	case r.code == ExitUnknown:
		return fmt.Errorf("%w: %s", actuators.ErrUnknownOutcome, r.describe())
	}
	return errors.New(r.describe())
}

// describe is one line for people, with the end of what the command wrote.
func (r *result) describe() string {
	s := r.state
	if r.end == killed {
		s = fmt.Sprintf("stopped after %s (%s)", r.took.Round(time.Millisecond), r.state)
	}
	said := r.stderr.excerpt()
	if said == "" {
		said = r.stdout.excerpt()
	}
	if said == "" {
		return s
	}
	return s + ": " + said
}

// environment is what the command gets: all that we have but our own variables,
// and the request in short.
func environment(inherited []string, q request.Request) []string {
	env := make([]string, 0, len(inherited)+10)
	for _, v := range inherited {
		// Windows has names of other case.
		if len(v) < len(ownVariables) || !strings.EqualFold(v[:len(ownVariables)], ownVariables) {
			env = append(env, v)
		}
	}
	set := func(name, value string) { env = append(env, ownVariables+name+"="+value) }
	set("VERB", string(q.Verb))
	set("SCOPE", q.Scope)
	set("TARGET", q.Target)
	if q.Verb == request.Observe || q.Verb == request.Workers {
		return env
	}
	set("EPOCH", strconv.FormatUint(q.MasterEpoch, 10))
	set("GENERATION", strconv.FormatUint(q.Generation, 10))
	set("RECOMMENDATION_ID", q.RecommendationID)
	set("ACTION_ID", q.ActionID)
	if q.Want != nil {
		set("WANT", strconv.Itoa(*q.Want))
		set("AT_LEAST", strconv.FormatBool(q.AtLeast))
	}
	if q.From != nil {
		set("FROM", strconv.Itoa(*q.From))
	}
	for _, w := range q.Workers { // one
		set("WORKER", w.Name)
		set("WORKER_ADDRESS", w.Address)
	}
	return env
}
