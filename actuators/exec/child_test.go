//go:build unix

package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/request"
)

// TestMain is the operator's command too: the test binary runs itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		child(os.Args[2], os.Args[3:])
		return
	}
	// With the race detector every child would stay for a second at its end.
	if os.Getenv("GORACE") == "" {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	os.Exit(m.Run())
}

// child is what the command does, by its first argument.
func child(what string, args []string) {
	switch what {
	case "platform":
		platform(args[0])
	case "exit":
		code, _ := strconv.Atoi(args[0])
		fmt.Fprint(os.Stdout, args[1])
		fmt.Fprint(os.Stderr, args[2])
		os.Exit(code)
	case "print":
		fmt.Print(args[0])
	case "flood":
		fmt.Fprint(os.Stderr, strings.Repeat("noise\n", 1<<20))
		fmt.Fprint(os.Stdout, strings.Repeat(" ", maxOutput), `{"desired":1,"ready":1}`)
		fmt.Fprint(os.Stderr, "the last line")
	case "echo":
		in, _ := io.ReadAll(os.Stdin)
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"stdin": json.RawMessage(in), "environment": os.Environ()})
	case "suicide":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stubborn":
		stubborn(args[0], true)
	case "grandchild":
		stubborn(args[0], false)
	case "service":
		// The service that runs a command, which holds a connection.
		a, err := New(Options{
			Command: os.Args[0], Args: []string{"child", "grandchild", args[0]}, Logger: slog.New(slog.DiscardHandler), Timeout: time.Hour,
		})
		exitIf(err)
		_ = a.Scale(context.Background(), actuators.Target{}, 3, actuators.Fence{})
	case "leave":
		// A process that stays and holds the outputs.
		cmd := exec.Command(os.Args[0], "child", "guest", args[0])
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		exitIf(cmd.Start())
	case "guest":
		c, err := net.Dial("tcp", args[0])
		exitIf(err)
		_, _ = c.Read(make([]byte, 1))
	}
}

// stubborn does not end when it is asked to; it holds a connection for as long
// as it lives.
func stubborn(address string, parent bool) {
	signal.Ignore(syscall.SIGTERM)
	c, err := net.Dial("tcp", address)
	exitIf(err)
	if parent {
		cmd := exec.Command(os.Args[0], "child", "grandchild", address)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		exitIf(cmd.Start())
	}
	forever()
	_ = c.Close()
}

// forever is long enough for every test to have ended.
func forever() { <-time.After(time.Hour) }

func exitIf(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

// platform keeps its state in files of dir, and behaves as files there say.
func platform(dir string) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	if has("stall") {
		forever()
	}
	var q request.Request
	exitIf(json.NewDecoder(os.Stdin).Decode(&q))
	state := readState(dir)
	switch {
	case q.Verb == request.Workers:
		out := map[string]any{"workers": state.named()}
		exitIf(json.NewEncoder(os.Stdout).Encode(out))
		return
	case q.Verb == request.Observe:
		fmt.Printf(`{"desired":%d,"ready":%d,"fence":{"masterEpoch":%d,"generation":%d,"recommendationId":%q,"actionId":%q}}`+"\n",
			state.Desired, state.Desired, state.MasterEpoch, state.Generation, state.RecommendationID, state.ActionID)
		return
	case has("refuse"):
		os.Exit(ExitRefused)
	case has("fail"):
		os.Exit(1)
	case q.MasterEpoch < state.MasterEpoch:
		os.Exit(ExitStale)
	}
	next, ok := state.after(q)
	if !ok {
		os.Exit(ExitRefused)
	}
	b, err := json.Marshal(next)
	exitIf(err)
	// Many may run at once: each writes a whole file.
	file := filepath.Join(dir, strconv.Itoa(os.Getpid()))
	exitIf(os.WriteFile(file, b, 0o600))
	exitIf(os.Rename(file, filepath.Join(dir, "state")))
	if has("lose") {
		exitIf(os.Remove(filepath.Join(dir, "lose")))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// kept is what the platform knows after the last request to change something.
type kept struct {
	request.Request

	Desired int
	// Gone are the names of released workers.
	Gone []string
}

// named are the workers that are there, w1 and so on: as many as are desired, and
// none that was released, until there are more than ever.
func (k kept) named() []map[string]string {
	out := []map[string]string{}
	for i := 1; len(out) < k.Desired; i++ {
		if name := fmt.Sprint("w", i); !slices.Contains(k.Gone, name) {
			out = append(out, map[string]string{"name": name, "address": name + ":5801"})
		}
	}
	return out
}

// after is what the platform knows after q; false if it will not do it.
func (k kept) after(q request.Request) (kept, bool) {
	again := q.ActionID == k.ActionID
	k.Request = q
	if q.Verb == request.Scale {
		k.Desired = *q.Want
		return k, true
	}
	w := q.Workers[0]
	if again && slices.Contains(k.Gone, w.Name) {
		return k, true
	}
	there := slices.ContainsFunc(k.named(), func(have map[string]string) bool {
		return have["name"] == w.Name && (w.Address == "" || have["address"] == w.Address)
	})
	k.Desired--
	k.Gone = append(slices.Clone(k.Gone), w.Name)
	return k, there
}

func readState(dir string) kept {
	b, err := os.ReadFile(filepath.Join(dir, "state"))
	if os.IsNotExist(err) {
		return kept{}
	}
	exitIf(err)
	var k kept
	exitIf(json.Unmarshal(b, &k))
	return k
}
