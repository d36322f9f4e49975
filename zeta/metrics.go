package zeta

import (
	"github.com/prometheus/client_golang/prometheus"
)

// descs are the metrics of one cluster; cluster is a constant label, so that
// the collectors of several clusters fit into one registry.
type descs struct {
	up, info, workers, slots                              *prometheus.Desc
	workerSlots, workerDynamic, workerCPU, workerMemory   *prometheus.Desc
	workerProcessors, workerCores, workerHeap, workerJobs *prometheus.Desc
	workerAge, workerAssigned                             *prometheus.Desc
	jobs, pendingJobs, pendingOldest                      *prometheus.Desc
	pendingSlots, headLacking, headRequired, headInfo     *prometheus.Desc
	rejections                                            *prometheus.Desc
	scrapeDuration, scrapeErrors                          *prometheus.Desc
}

func newDescs(cluster string) descs {
	constant := prometheus.Labels{"cluster": cluster}
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("seatunnel_zeta_"+name, help, labels, constant)
	}
	return descs{
		up:      d("up", "1 if a node of the cluster answered /overview in this scrape, else 0."),
		info:    d("info", "What the cluster says of itself; unknown is what its version cannot tell. Absent while a reply is missing that the version has. Always 1.", "version", "schedule_strategy", "slot_mode"),
		workers: d("workers", "Workers registered with the master. Absent while the master does not know them."),
		slots:   d("slots", "Slots of all workers by state. Absent when any worker has dynamic slots: these have no total.", "state"),

		workerSlots:      d("worker_slots", "Slots of a worker by state. Absent for a worker with dynamic slots.", "worker", "state"),
		workerAssigned:   d("worker_assigned_slots", "Slots of a worker that tasks have, fixed or dynamic: 0 is a worker without a task.", "worker"),
		workerDynamic:    d("worker_dynamic_slot", "1 if the worker makes slots as they are asked for, 0 if it has a fixed number.", "worker"),
		workerCPU:        d("worker_cpu_ratio", "CPU load of the worker's process, 1 is all of its cores.", "worker"),
		workerMemory:     d("worker_memory_ratio", "Heap used by the worker, 1 is its maximum.", "worker"),
		workerProcessors: d("worker_processors", "CPU cores that the worker's JVM sees.", "worker"),
		workerCores:      d("worker_cpu_cores", "CPU cores of the worker as the scheduler counts them: all, and those not given to tasks.", "worker", "state"),
		workerHeap:       d("worker_heap_bytes", "Heap of the worker as the scheduler counts it: all, and what is not given to tasks.", "worker", "state"),
		workerJobs:       d("worker_running_jobs", "Jobs that have tasks on the worker.", "worker"),
		workerAge:        d("worker_sample_age_seconds", "Age of the worker's load and memory values when they were received. Absent for a worker without any, so the count of this metric is the number of workers that report.", "worker"),

		jobs:          d("jobs", "Jobs by status, as /overview counts them: running includes those that wait, and the finished, failed and canceled ones expire with Zeta's history, so these can shrink.", "status"),
		pendingJobs:   d("pending_jobs", "Jobs waiting for slots. Always 0 before 2.3.9, which lets no job wait. Absent where the version cannot tell."),
		pendingOldest: d("pending_job_oldest_seconds", "How long the first job of the queue has waited; 0 when none waits."),
		pendingSlots:  d("pending_slots", "Slots that all waiting jobs lack together; 0 when none waits. Absent while Zeta does not list them all: of a queue of more than 100 jobs, or one whose reply would be too long."),
		headLacking:   d("pending_head_lacking_slots", "Slots that the first job of the queue still lacks; 0 when none waits. Jobs behind it are not tried, so only this demand is proven."),
		headRequired:  d("pending_head_required_slots", "Slots that the first job of the queue needs in all."),
		headInfo:      d("pending_head_info", "The first job of the queue and why it waits. Always 1.", "job_id", "reason"),
		rejections:    d("resource_rejections_total", "Jobs that failed because the cluster had not enough resources, since the exporter first read the cluster's history. Absent where it cannot be read."),

		scrapeDuration: d("scrape_duration_seconds", "How long asking the cluster took."),
		scrapeErrors:   d("scrape_errors_total", "Requests to the cluster that failed, by endpoint; the endpoint's metrics are absent then.", "endpoint"),
	}
}

func (d descs) describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		d.up, d.info, d.workers, d.slots,
		d.workerSlots, d.workerDynamic, d.workerCPU, d.workerMemory,
		d.workerProcessors, d.workerCores, d.workerHeap, d.workerJobs,
		d.workerAge, d.workerAssigned, d.jobs, d.pendingJobs, d.pendingOldest,
		d.pendingSlots, d.headLacking, d.headRequired, d.headInfo, d.rejections,
		d.scrapeDuration, d.scrapeErrors,
	} {
		ch <- desc
	}
}

// sink sends values; those that are not known it leaves out.
type sink chan<- prometheus.Metric

func (s sink) gauge(desc *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
}

func (s sink) counter(desc *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, v, labels...)
}

func (s sink) count(desc *prometheus.Desc, c Count, labels ...string) {
	if c.Known {
		s.gauge(desc, float64(c.Value), labels...)
	}
}

func (s sink) number(desc *prometheus.Desc, n Number, labels ...string) {
	if n.Known {
		s.gauge(desc, n.Value, labels...)
	}
}

func (s sink) ratio(desc *prometheus.Desc, r Ratio, labels ...string) {
	if r.Known {
		s.gauge(desc, r.Value, labels...)
	}
}

func (s sink) flag(desc *prometheus.Desc, f Flag, labels ...string) {
	if f.Known {
		s.gauge(desc, oneIf(f.Value), labels...)
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func (d descs) emit(ch chan<- prometheus.Metric, snap Snapshot) {
	out, f := sink(ch), figuresOf(snap)
	out.gauge(d.up, oneIf(snap.Overview != nil))
	out.gauge(d.scrapeDuration, snap.Took.Seconds())
	for e, n := range snap.Failures {
		out.counter(d.scrapeErrors, n, string(e))
	}
	if snap.Rejections != nil {
		out.counter(d.rejections, *snap.Rejections)
	}
	if i := f.info; i != nil {
		out.gauge(d.info, 1, i.version, i.strategy, i.slotMode)
	}
	out.count(d.workers, f.workers)
	out.count(d.slots, f.assigned, "assigned")
	out.count(d.slots, f.unassigned, "unassigned")
	d.emitJobs(out, snap.Overview)
	d.emitQueue(out, f.queue)
	for _, w := range f.perWorker {
		d.emitWorker(out, w)
	}
}

func (d descs) emitJobs(out sink, o *Overview) {
	if o == nil {
		return
	}
	out.count(d.jobs, o.RunningJobs, "running")
	out.count(d.jobs, o.PendingJobs, "pending")
	out.count(d.jobs, o.FinishedJobs, "finished")
	out.count(d.jobs, o.FailedJobs, "failed")
	out.count(d.jobs, o.CanceledJobs, "canceled")
}

func (d descs) emitQueue(out sink, q queueFigures) {
	out.count(d.pendingJobs, q.size)
	out.number(d.pendingOldest, q.oldestWait)
	out.count(d.pendingSlots, q.all)
	out.count(d.headLacking, q.lacking)
	out.count(d.headRequired, q.required)
	if q.head != nil {
		out.gauge(d.headInfo, 1, q.head.jobID, q.head.reason)
	}
}

func (d descs) emitWorker(out sink, w workerFigures) {
	name := string(w.address)
	out.count(d.workerSlots, w.assigned, name, "assigned")
	out.count(d.workerSlots, w.unassigned, name, "unassigned")
	out.count(d.workerAssigned, w.used, name)
	out.flag(d.workerDynamic, w.dynamic, name)
	out.ratio(d.workerCPU, w.cpu, name)
	out.ratio(d.workerMemory, w.memory, name)
	out.count(d.workerProcessors, w.processors, name)
	out.number(d.workerCores, w.cores.total, name, "total")
	out.number(d.workerCores, w.cores.available, name, "available")
	out.number(d.workerHeap, w.heap.total, name, "total")
	out.number(d.workerHeap, w.heap.available, name, "available")
	out.count(d.workerJobs, w.jobs, name)
	out.number(d.workerAge, w.age, name)
}
