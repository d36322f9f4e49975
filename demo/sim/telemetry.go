package sim

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// telemetry is the master's own /metrics text, a subset of the families that a
// real master exports, in the same form (a comma after the last label).
func (c *Cluster) telemetry() []byte {
	t := &telemetryText{}
	cluster := `cluster="` + c.opt.Name + `",`
	address := cluster + `address="` + c.master.hostPort() + `",`
	used := c.master.shownHeap * defaultHeap

	t.family("jvm_memory_bytes_used", "gauge", "Used bytes of a given JVM memory area.")
	t.sample("jvm_memory_bytes_used", `area="heap",`, used)
	t.family("jvm_memory_bytes_max", "gauge", "Max (bytes) of a given JVM memory area.")
	t.sample("jvm_memory_bytes_max", `area="heap",`, defaultHeap)
	t.family("cluster_info", "gauge", "Cluster info")
	t.sample("cluster_info", cluster+`hazelcastVersion="5.1",master="`+c.master.hostPort()+`",`, 1)
	t.family("cluster_time", "gauge", "Cluster start time")
	t.sample("cluster_time", cluster+`hazelcastVersion="5.1",`, float64(c.now.UnixMilli()))
	t.family("node_count", "gauge", "Cluster node total count ")
	t.sample("node_count", cluster, float64(len(c.workers)+1))
	t.family("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.")
	t.sample("process_cpu_seconds_total", "", c.master.cpuSeconds)
	t.family("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.")
	t.sample("process_start_time_seconds", "", float64(c.master.joined.UnixMilli())/1000)
	t.family("node_state", "gauge", "Whether is up of seatunnel node ")
	t.sample("node_state", address, 1)
	t.family("hazelcast_partition_partitionCount", "gauge", "The partitionCount of seatunnel cluster node")
	t.sample("hazelcast_partition_partitionCount", address, 271)
	t.family("hazelcast_partition_isClusterSafe", "gauge", "Whether is cluster safe of partition")
	t.sample("hazelcast_partition_isClusterSafe", address, 1)
	c.jobTelemetry(t, cluster)
	return t.b.Bytes()
}

// jobTelemetry counts jobs by state. Only 2.3.13 has the type pending; what is
// over stays counted, so these are gauges.
func (c *Cluster) jobTelemetry(t *telemetryText, cluster string) {
	pending := len(c.pending())
	counts := []struct {
		state string
		n     int
	}{
		{"canceled", c.ended(statusCanceled)},
		{"cancelling", 0},
		{"created", 0},
		{"pending", pending},
		{"failed", c.ended(statusFailed)},
		{"failing", 0},
		{"finished", c.ended(statusFinished)},
		{"running", len(c.jobs) - pending},
		{"scheduled", 0},
	}
	t.family("job_count", "gauge", "All job counts of seatunnel cluster ")
	for _, n := range counts {
		if n.state == "pending" && c.opt.Version == V238 {
			continue
		}
		t.sample("job_count", cluster+`type="`+n.state+`",`, float64(n.n))
	}
}

// telemetryText writes the text format as Zeta's Java client does.
type telemetryText struct{ b bytes.Buffer }

func (t *telemetryText) family(name, kind, help string) {
	fmt.Fprintf(&t.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (t *telemetryText) sample(name, labels string, v float64) {
	t.b.WriteString(name)
	if labels != "" {
		t.b.WriteString("{" + labels + "}")
	}
	t.b.WriteString(" " + javaDouble(v) + "\n")
}

// javaDouble is Double.toString: 3.0, 3.7635784E7.
func javaDouble(v float64) string {
	if v == 0 || (v >= 1e-3 && v < 1e7) {
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, err := strconv.Atoi(exp)
	if err != nil { // the standard library wrote it
		panic(err)
	}
	return mantissa + "E" + strconv.Itoa(n)
}
