//go:build unix

// Package zeta runs a real Apache SeaTunnel Zeta cluster in tests: a master
// and workers, each a Java process of its own on loopback, from the jars that
// the project publishes.
package zeta

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"text/template"
	"time"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

const (
	// maxWorkers is how many members besides the master know each other.
	maxWorkers = 8
	// installWithin covers the first download on a slow line.
	installWithin = 10 * time.Minute
	// startsWithin covers a cold Java on a busy machine; idle it takes 3 to 15 s.
	startsWithin = 3 * time.Minute
)

// Cluster is a running Zeta with fixed slots.
type Cluster struct {
	// URL is the master's REST v1.
	URL    string
	Master *harness.Process
	// Workers by number, from 1.
	Workers map[int]*harness.Process

	lab     *harness.Lab
	install Installation
	dir     string
	port    int
	slots   int
}

// Start starts a master, whose workers will have a number of slots each, and
// waits until it answers. It skips the test where Zeta cannot be had.
func Start(t testing.TB, lab *harness.Lab, slots int) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installWithin)
	defer cancel()
	install, err := Install(ctx)
	switch {
	case Unavailable(err):
		harness.Unavailable(t, "%v", err)
	case err != nil:
		t.Fatalf("installing Zeta: %v", err)
	}
	c := &Cluster{
		Workers: map[int]*harness.Process{}, lab: lab, install: install,
		dir: filepath.Join(lab.Dir, "zeta"), port: harness.FreePorts(t, maxWorkers+1), slots: slots,
	}
	c.URL = harness.URL(harness.Loopback(c.port))
	for _, d := range []string{"home/connectors", "home/plugins", "checkpoints"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o750); err != nil {
			t.Fatalf("making Zeta's folders: %v", err)
		}
	}
	t.Logf("Zeta %s on Java %s, %d slots a worker, ports %d to %d", Version, install.JavaVersion, slots, c.port, c.port+maxWorkers)
	c.Master = c.node(t, "master", 0)
	harness.Wait(t, startsWithin, "the master answers", func(ctx context.Context) error {
		if err := c.Master.Err(); err != nil {
			return err
		}
		_, err := c.Overview(ctx)
		return err
	})
	return c
}

// StartWorkers starts workers of the given numbers (1 to 8) at the same time
// and waits until the master has registered as many more.
func (c *Cluster) StartWorkers(t testing.TB, numbers ...int) {
	t.Helper()
	before, err := c.Overview(t.Context())
	if err != nil {
		t.Fatalf("asking Zeta: %v", err)
	}
	for _, n := range numbers {
		c.Workers[n] = c.node(t, "worker", n)
	}
	want := before.Workers + len(numbers)
	harness.Wait(t, startsWithin, fmt.Sprintf("%d workers are registered", want), func(ctx context.Context) error {
		for _, n := range numbers {
			if err := c.Workers[n].Err(); err != nil {
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

// KillWorker ends a worker as a crash of its machine would.
func (c *Cluster) KillWorker(n int) {
	c.Workers[n].Kill()
	delete(c.Workers, n)
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
	}{Port: c.port + n, Slots: c.slots, Dir: c.dir}
	for i := range maxWorkers + 1 {
		values.Members = append(values.Members, harness.Loopback(c.port+i))
	}
	name := fmt.Sprintf("zeta-%s-%d", role, n)
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
		"-cp", filepath.Join(c.install.Dir, "classes")+":"+filepath.Join(c.install.Dir, "lib", "*"),
		"ZetaNode", role)
	return c.lab.Start(t, harness.Command{Name: name, Path: c.install.Java, Args: args, Dir: c.dir})
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
