//go:build unix

// Package zeta runs a real Apache SeaTunnel Zeta cluster in tests: a master
// and workers, each a Java process of its own on loopback, from the jars that
// the project publishes.
package zeta

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"text/template"
	"time"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/java"
)

const (
	// maxWorkers is how many members besides the master know each other.
	maxWorkers = 8
	// installWithin covers the first download on a slow line.
	installWithin = 10 * time.Minute
	// startsWithin covers a cold Java on a busy machine; idle it takes 3 to 15 s.
	startsWithin = 3 * time.Minute
	// stopsWithin is far more than the tenth of a second that it takes.
	stopsWithin = time.Minute
)

// Attribute is the member attribute that has the name of each node: "w0" is the
// master, "w1" the first worker.
const Attribute = "worker"

// Options say what kind of cluster is started.
type Options struct {
	// Slots is how many fixed slots each worker has.
	Slots int
	// Hybrid has every node be master and worker in one, and hold a part of Zeta's
	// state.
	Hybrid bool
}

// Cluster is a running Zeta with fixed slots.
type Cluster struct {
	// URL is the master's REST v1.
	URL    string
	Master *harness.Process
	// Workers by number, from 1.
	Workers map[int]*harness.Process

	lab     *harness.Lab
	install java.Installation
	dir     string
	port    int
	options Options
	// mu is for Workers and logs where several goroutines start and end workers.
	mu sync.Mutex
	// logs are of all nodes that ever ran jobs.
	logs map[string]bool
}

// Start starts a master, whose workers will have a number of slots each, and
// waits until it answers. It skips the test where Zeta cannot be had.
func Start(t testing.TB, lab *harness.Lab, slots int) *Cluster {
	t.Helper()
	return StartWith(t, lab, Options{Slots: slots})
}

// StartWith is Start for any kind of cluster.
func StartWith(t testing.TB, lab *harness.Lab, o Options) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installWithin)
	defer cancel()
	install, err := Install(ctx)
	switch {
	case java.Unavailable(err):
		harness.Unavailable(t, "%v", err)
	case err != nil:
		t.Fatalf("installing Zeta: %v", err)
	}
	c := &Cluster{
		Workers: map[int]*harness.Process{}, lab: lab, install: install,
		port: harness.FreePorts(t, maxWorkers+1), options: o, logs: map[string]bool{},
	}
	c.dir = filepath.Join(lab.Dir, fmt.Sprintf("zeta-%d", c.port))
	c.URL = harness.URL(harness.Loopback(c.port))
	for _, d := range []string{"home/connectors", "home/plugins", "checkpoints", "out"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o750); err != nil {
			t.Fatalf("making Zeta's folders: %v", err)
		}
	}
	t.Logf("Zeta %s on Java %s, %d slots a worker, ports %d to %d", Version, install.Version, o.Slots, c.port, c.port+maxWorkers)
	c.StartMaster(t)
	return c
}

// StartMaster starts the master, again if it was killed, and waits until it
// answers.
func (c *Cluster) StartMaster(t testing.TB) {
	t.Helper()
	c.Master = c.node(t, c.role("master"), 0)
	harness.Wait(t, startsWithin, "the master answers", func(ctx context.Context) error {
		if err := c.Master.Err(); err != nil {
			return err
		}
		_, err := c.Overview(ctx)
		return err
	})
}

// role is a node's, unless all have the same.
func (c *Cluster) role(role string) string {
	if c.options.Hybrid {
		return "both"
	}
	return role
}

// StartWorkers starts workers of the given numbers (1 to 8) at the same time
// and waits until the master has registered all that run, and nobody else.
func (c *Cluster) StartWorkers(t testing.TB, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		c.LaunchWorker(t, n)
	}
	want := len(c.WithSlots())
	harness.Wait(t, startsWithin, fmt.Sprintf("%d workers are registered", want), func(ctx context.Context) error {
		for _, n := range numbers {
			if err := c.worker(n).Err(); err != nil {
				return err
			}
		}
		o, err := c.Overview(ctx)
		if err == nil && o.Workers != want {
			err = fmt.Errorf("%d workers", o.Workers)
		}
		return err
	})
}

// LaunchWorker starts one worker and does not wait for it.
func (c *Cluster) LaunchWorker(t testing.TB, n int) {
	t.Helper()
	p := c.node(t, c.role("worker"), n)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Workers[n] = p
}

// worker is a worker's process.
func (c *Cluster) worker(n int) *harness.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Workers[n]
}

// take is worker, which is no longer one of the cluster's then.
func (c *Cluster) take(n int) *harness.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.Workers[n]
	delete(c.Workers, n)
	return p
}

// Up are the numbers of the workers that run, highest first.
func (c *Cluster) Up() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var up []int
	for n, p := range c.Workers {
		if p.Err() == nil {
			up = append(up, n)
		}
	}
	slices.SortFunc(up, func(a, b int) int { return b - a })
	return up
}

// WithSlots are the numbers of the nodes that jobs may run on: the workers that
// run and, in a hybrid cluster, the master (0).
func (c *Cluster) WithSlots() []int {
	if c.options.Hybrid {
		return append(c.Up(), 0)
	}
	return c.Up()
}

// Name is a node's value of Attribute.
func Name(n int) string { return fmt.Sprintf("w%d", n) }

// Address is a node's address as a member, host:port.
func (c *Cluster) Address(n int) string { return harness.Loopback(c.port + n) }

// KillWorker ends a worker as a crash of its machine would.
func (c *Cluster) KillWorker(n int) {
	c.take(n).Kill()
}

// StopWorker ends a worker as its platform does (SIGTERM).
func (c *Cluster) StopWorker(n int) error {
	p := c.take(n)
	const sigterm = 143
	exit, ok := errors.AsType[*exec.ExitError](p.Terminate(stopsWithin))
	if !ok || exit.ExitCode() != sigterm {
		return fmt.Errorf("worker %d did not end as it should: %w", n, p.Err())
	}
	return nil
}

// node starts one Java process; its member and REST port is the first port
// plus n.
func (c *Cluster) node(t testing.TB, role string, n int) *harness.Process {
	t.Helper()
	values := struct {
		Port, Slots int
		Dynamic     bool
		Dir         string
		Members     []string
		Name        string
	}{Port: c.port + n, Slots: c.options.Slots, Dir: c.dir, Name: Name(n)}
	for i := range maxWorkers + 1 {
		values.Members = append(values.Members, harness.Loopback(c.port+i))
	}
	name := fmt.Sprintf("zeta-%d-%s-%d", c.port, role, n)
	seatunnel := c.render(t, "seatunnel.yaml.tmpl", name, values)
	hazelcast := c.render(t, "hazelcast.yaml.tmpl", name, values)
	args := []string{
		"-Xms64m", "-Xmx256m", "-XX:+UseG1GC", "-XX:MaxMetaspaceSize=256m", "-XX:TieredStopAtLevel=1",
		"--add-modules", "java.se", "--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED",
	}
	for _, p := range []string{
		"java.base/java.lang", "java.base/java.nio", "java.base/sun.nio.ch",
		"java.management/sun.management", "jdk.management/com.sun.management.internal",
	} {
		args = append(args, "--add-opens", p+"=ALL-UNNAMED")
	}
	args = append(args,
		"-DSEATUNNEL_HOME="+filepath.Join(c.dir, "home"),
		"-Dseatunnel.config="+seatunnel,
		"-Dhazelcast.config="+hazelcast,
		"-Dhazelcast.logging.type=log4j2",
		"-Dlog4j2.configurationFile="+filepath.Join(c.install.Dir, "conf", "log4j2.properties"),
		"-cp", c.install.ClassPath(),
		"ZetaNode", role)
	p := c.lab.Start(t, harness.Command{Name: name, Path: c.install.Java, Args: args, Dir: c.dir})
	if role != "master" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.logs[p.Log] = true
	}
	return p
}

func (c *Cluster) render(t testing.TB, file, node string, values any) string {
	t.Helper()
	tmpl, err := template.ParseFS(files, "conf/"+file)
	if err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	path := filepath.Join(c.dir, node+"-"+file[:len(file)-len(".tmpl")])
	f, err := os.Create(path)
	if err != nil {
		t.Fatalf("writing %s: %v", path, err)
	}
	defer f.Close()
	if err := tmpl.Execute(f, values); err != nil {
		t.Fatalf("writing %s: %v", path, err)
	}
	return path
}
