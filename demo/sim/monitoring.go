package sim

import (
	"fmt"
	"strconv"
)

const (
	gib = 1 << 30
	mib = 1 << 20
)

// monitoringRow is one member in /system-monitoring-information: every value
// is a string, units and percent signs included.
type monitoringRow struct {
	IsMaster             string `json:"isMaster"`
	Host                 string `json:"host"`
	Port                 string `json:"port"`
	Processors           string `json:"processors"`
	PhysicalTotal        string `json:"physical.memory.total"`
	PhysicalFree         string `json:"physical.memory.free"`
	SwapTotal            string `json:"swap.space.total"`
	SwapFree             string `json:"swap.space.free"`
	HeapUsed             string `json:"heap.memory.used"`
	HeapFree             string `json:"heap.memory.free"`
	HeapTotal            string `json:"heap.memory.total"`
	HeapMax              string `json:"heap.memory.max"`
	HeapUsedTotal        string `json:"heap.memory.used/total"`
	HeapUsedMax          string `json:"heap.memory.used/max"`
	MinorGCCount         string `json:"minor.gc.count"`
	MinorGCTime          string `json:"minor.gc.time"`
	MajorGCCount         string `json:"major.gc.count"`
	MajorGCTime          string `json:"major.gc.time"`
	LoadProcess          string `json:"load.process"`
	LoadSystem           string `json:"load.system"`
	LoadAverage          string `json:"load.systemAverage"`
	ThreadCount          string `json:"thread.count"`
	ThreadPeak           string `json:"thread.peakCount"`
	TimeDiff             string `json:"cluster.timeDiff"`
	EventQueue           string `json:"event.q.size"`
	AsyncQueue           string `json:"executor.q.async.size"`
	ClientQueue          string `json:"executor.q.client.size"`
	ClientQueryQueue     string `json:"executor.q.client.query.size"`
	ClientBlockingQueue  string `json:"executor.q.client.blocking.size"`
	QueryQueue           string `json:"executor.q.query.size"`
	ScheduledQueue       string `json:"executor.q.scheduled.size"`
	IOQueue              string `json:"executor.q.io.size"`
	SystemQueue          string `json:"executor.q.system.size"`
	OperationsQueue      string `json:"executor.q.operations.size"`
	PriorityQueue        string `json:"executor.q.priorityOperation.size"`
	OperationsCompleted  string `json:"operations.completed.count"`
	MapLoadQueue         string `json:"executor.q.mapLoad.size"`
	MapLoadAllQueue      string `json:"executor.q.mapLoadAllKeys.size"`
	ClusterQueue         string `json:"executor.q.cluster.size"`
	ResponseQueue        string `json:"executor.q.response.size"`
	OperationsRunning    string `json:"operations.running.count"`
	InvocationsPercent   string `json:"operations.pending.invocations.percentage"`
	InvocationsCount     string `json:"operations.pending.invocations.count"`
	ProxyCount           string `json:"proxy.count"`
	ClientEndpoints      string `json:"clientEndpoint.count"`
	ActiveConnections    string `json:"connection.active.count"`
	ClientConnections    string `json:"client.connection.count"`
	ConnectionCountTotal string `json:"connection.count"`
}

func (c *Cluster) monitoring() []monitoringRow {
	rows := make([]monitoringRow, 0, len(c.workers)+1)
	for _, m := range c.members() {
		rows = append(rows, c.monitoringRow(m))
	}
	return rows
}

func (c *Cluster) monitoringRow(m *member) monitoringRow {
	up := int(c.now.Sub(m.joined).Seconds())
	used := m.shownHeap * defaultHeap
	committed := min(max(used*1.6, gib/2), defaultHeap)
	gcs := 10 + up/60
	return monitoringRow{
		IsMaster:             strconv.FormatBool(m == c.master),
		Host:                 m.host,
		Port:                 strconv.Itoa(hazelcastPort),
		Processors:           strconv.Itoa(defaultCPUCores),
		PhysicalTotal:        bytesText(16 * gib),
		PhysicalFree:         bytesText(9.5 * gib),
		SwapTotal:            "0",
		SwapFree:             "0",
		HeapUsed:             bytesText(used),
		HeapFree:             bytesText(committed - used),
		HeapTotal:            bytesText(committed),
		HeapMax:              bytesText(defaultHeap),
		HeapUsedTotal:        percent(used / committed),
		HeapUsedMax:          percent(m.shownHeap),
		MinorGCCount:         strconv.Itoa(gcs),
		MinorGCTime:          strconv.Itoa(gcs*12) + "ms",
		MajorGCCount:         "0",
		MajorGCTime:          "0ms",
		LoadProcess:          percent(m.shownCPU),
		LoadSystem:           percent(clampRatio(m.shownCPU + 0.04)),
		LoadAverage:          fmt.Sprintf("%.2f", m.shownCPU*defaultCPUCores),
		ThreadCount:          strconv.Itoa(64 + 2*m.assigned()),
		ThreadPeak:           strconv.Itoa(72 + 2*m.assigned()),
		TimeDiff:             "0",
		EventQueue:           "0",
		AsyncQueue:           "0",
		ClientQueue:          "0",
		ClientQueryQueue:     "0",
		ClientBlockingQueue:  "0",
		QueryQueue:           "0",
		ScheduledQueue:       "0",
		IOQueue:              "0",
		SystemQueue:          "0",
		OperationsQueue:      "0",
		PriorityQueue:        "0",
		OperationsCompleted:  strconv.Itoa(40 + 2*up),
		MapLoadQueue:         "0",
		MapLoadAllQueue:      "0",
		ClusterQueue:         "0",
		ResponseQueue:        "0",
		OperationsRunning:    "1",
		InvocationsPercent:   "0.00%",
		InvocationsCount:     "0",
		ProxyCount:           "11",
		ClientEndpoints:      "0",
		ActiveConnections:    strconv.Itoa(len(c.workers)),
		ClientConnections:    "0",
		ConnectionCountTotal: strconv.Itoa(len(c.workers)),
	}
}

func percent(ratio float64) string { return fmt.Sprintf("%.2f%%", 100*ratio) }

// bytesText writes sizes as Hazelcast does.
func bytesText(n float64) string {
	if n >= gib {
		return fmt.Sprintf("%.1fG", n/gib)
	}
	return fmt.Sprintf("%.1fM", n/mib)
}
