//go:build unix

// Package yarn runs a real ResourceManager with the YARN services API and
// NodeManagers in tests, on loopback, from the jars that Hadoop publishes.
package yarn

import (
	"context"
	"embed"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/java"
)

// Version is the Hadoop that is run: the newest one that publishes its services
// API.
const Version = "3.4.2"

const (
	// installWithin covers the first download on a slow line.
	installWithin = 10 * time.Minute
	// startsWithin covers a cold Java on a busy machine; idle it takes 4 to 8 s.
	startsWithin = 3 * time.Minute
	// endsWithin is how long everything may take to end.
	endsWithin = 20 * time.Second
	// ports are those of one JVM, in a row.
	ports = 7
)

//go:embed pom.xml src conf
var files embed.FS

// Options say what is run.
type Options struct {
	// Memory is that of each NodeManager in MB, 0 is 1024.
	Memory int
	// Managers is how many NodeManagers there are, 0 is 2.
	Managers int
	// Two runs a second ResourceManager, in a JVM of its own.
	Two bool
	// Conf are further settings.
	Conf map[string]string
	// Env is added to the environment of the JVMs, JVM to their flags.
	Env, JVM []string
}

// Cluster is a running YARN.
type Cluster struct {
	// URL is that of the ResourceManager, Other that of the second one, if there is
	// one.
	URL, Other string
	// Node is the JVM with the ResourceManager and the NodeManagers, Second that of
	// the second ResourceManager.
	Node, Second *harness.Process
	// Work is the folder for everything that is written.
	Work string
	// Authorize proves who asks, nil: the test says that it is User.
	Authorize func(context.Context, *http.Request) error
	// Install has the Java.
	Install java.Installation

	port int
	// name is that of the service, empty: ServiceName.
	name string
}

// Start starts a cluster and waits until it answers. It skips the test where
// Hadoop cannot be had.
func Start(t testing.TB, lab *harness.Lab, o Options) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installWithin)
	defer cancel()
	install, err := java.Install(ctx, java.Program{Name: "yarn-" + Version, Files: files, Main: "src/YarnNode.java"})
	switch {
	case java.Unavailable(err):
		harness.Unavailable(t, "a real YARN: %v", err)
	case err != nil:
		t.Fatalf("installing YARN: %v", err)
	}
	work, err := os.MkdirTemp(lab.Dir, "yarn-")
	if err != nil {
		t.Fatalf("making YARN's folder: %v", err)
	}
	c := &Cluster{Work: work, Install: install, port: harness.FreePorts(t, ports)}
	c.URL = harness.URL(harness.Loopback(c.port))
	second := 0
	if o.Two {
		second = harness.FreePorts(t, ports)
		c.Other = harness.URL(harness.Loopback(second))
	}
	if err := os.CopyFS(filepath.Join(work, "conf"), os.DirFS(filepath.Join(install.Dir, "conf"))); err != nil {
		t.Fatalf("writing YARN's configuration: %v", err)
	}
	t.Logf("Hadoop %s on Java %s, %s", Version, install.Version, c.URL)
	c.Node = c.start(t, lab, o, "yarn", c.port, second, false)
	t.Cleanup(c.sweep)
	t.Cleanup(func() { _ = c.Node.Terminate(endsWithin) })
	c.answers(t, c.Node, c.port)
	if o.Two {
		c.Second = c.start(t, lab, o, "yarn-2", second, c.port, true)
		c.answers(t, c.Second, second)
	}
	return c
}

// start starts one JVM.
func (c *Cluster) start(t testing.TB, lab *harness.Lab, o Options, name string, port, other int, alone bool) *harness.Process {
	t.Helper()
	args := []string{
		"-Xmx320m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
		"--add-opens=java.base/java.lang=ALL-UNNAMED",
		"-Dnode.work=" + c.Work, "-Dnode.port=" + strconv.Itoa(port), "-Dnode.zk=" + strconv.Itoa(c.port+5),
		"-Dnode.other=" + strconv.Itoa(other), "-Dnode.alone=" + strconv.FormatBool(alone),
		// By default a NodeManager starts nothing on a disk that is nine tenths full.
		"-Dconf.yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100",
	}
	if o.Managers > 0 {
		args = append(args, "-Dnode.managers="+strconv.Itoa(o.Managers))
	}
	if o.Memory > 0 {
		args = append(args, "-Dconf.yarn.minicluster.yarn.nodemanager.resource.memory-mb="+strconv.Itoa(o.Memory))
	}
	for key, value := range o.Conf {
		args = append(args, "-Dconf."+key+"="+value)
	}
	args = append(args, o.JVM...)
	args = append(args, "-cp", filepath.Join(c.Work, "conf")+":"+c.Install.ClassPath(), "YarnNode")
	return lab.Start(t, harness.Command{
		Name: name + "-" + filepath.Base(c.Work), Path: c.Install.Java, Args: args, Dir: c.Work,
		Env: append([]string{"JAVA_HOME=" + c.Install.Home()}, o.Env...),
	})
}

func (c *Cluster) answers(t testing.TB, p *harness.Process, port int) {
	t.Helper()
	harness.Wait(t, startsWithin, "YARN answers", func(ctx context.Context) error {
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
		_, err := harness.Get(ctx, harness.URL(harness.Loopback(port+6)))
		return err
	})
}

// readDefinition reads the file that the services API keeps the definition in.
func (c *Cluster) readDefinition() ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(c.Work, "base", "services", c.ServiceName(), c.ServiceName()+".json"))
	if err != nil {
		return nil, fmt.Errorf("reading the service's definition: %w", err)
	}
	return b, nil
}

// sweep kills the processes of containers that are left: they are in sessions of
// their own, and survive a NodeManager that was killed.
func (c *Cluster) sweep() {
	for _, pid := range c.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processes are those that run in a container's folder.
func (c *Cluster) processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if err == nil && strings.HasPrefix(dir, filepath.Join(c.Work, "data")+"/") {
			out = append(out, pid)
		}
	}
	return out
}

// Master is the process of the service's ApplicationMaster, 0 if there is none.
func (c *Cluster) Master() int {
	definition := c.ServiceName() + ".json"
	for _, pid := range c.processes() {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if args := strings.Split(string(line), "\x00"); err == nil && filepath.Base(args[0]) == "java" && strings.Contains(string(line), "ServiceMaster") &&
			slices.ContainsFunc(args, func(arg string) bool { return filepath.Base(arg) == definition }) {
			return pid
		}
	}
	return 0
}

// SignalMaster sends a signal to the process of the service's ApplicationMaster.
func (c *Cluster) SignalMaster(t testing.TB, s syscall.Signal) {
	t.Helper()
	pid := c.Master()
	if pid == 0 {
		t.Fatal("no ApplicationMaster runs")
	}
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("sending %s to the ApplicationMaster: %v", s, err)
	}
}

// KillInstance ends the processes of an instance, as a crash would, and reports
// whether there were any.
func (c *Cluster) KillInstance(container string) (killed bool) {
	for _, pid := range c.processes() {
		dir, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		if err == nil && strings.HasSuffix(dir, container) {
			killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
		}
	}
	return killed
}

// StopManager stops the ResourceManager without the rest.
func (c *Cluster) StopManager(t testing.TB) {
	t.Helper()
	c.control(t, "/stop-rm")
}

// StartManager starts it again.
func (c *Cluster) StartManager(t testing.TB) {
	t.Helper()
	c.control(t, "/start-rm")
}

func (c *Cluster) control(t testing.TB, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, harness.URL(harness.Loopback(c.port+6))+path, http.NoBody)
	if err != nil {
		t.Fatalf("asking YARN's JVM: %v", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("asking YARN's JVM: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("asking YARN's JVM for %s: %s", path, resp.Status)
	}
	t.Logf("YARN: %s", path)
}
