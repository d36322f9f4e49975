package zeta

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of what one reply may list. More members are no Zeta cluster and would
// flood Prometheus with series; more elements of any kind would need a thousand
// times the memory of a body like "[{},{},…", and of many lists like "[1,1,…"
// together minutes of work.
const (
	maxMembers     = 10_000
	maxElements    = 100_000
	maxAllElements = 1_000_000
	maxDepth       = 1000
)

// Overview is the reply of /overview. Job counts are cluster-wide and cover
// the history that Zeta still keeps, so finished, failed and canceled can
// shrink. RunningJobs includes PendingJobs, as Zeta counts.
type Overview struct {
	ProjectVersion  Text  `json:"projectVersion"`
	TotalSlots      Count `json:"totalSlot"`
	UnassignedSlots Count `json:"unassignedSlot"`
	RunningJobs     Count `json:"runningJobs"`
	PendingJobs     Count `json:"pendingJobs"`
	FinishedJobs    Count `json:"finishedJobs"`
	FailedJobs      Count `json:"failedJobs"`
	CanceledJobs    Count `json:"cancelledJobs"`
	// Workers is the number of registered workers, from the key "workers" or
	// the documentation's "works".
	Workers Count `json:"workers"`
}

// Version is the engine's version, not Known when the reply gives none.
func (o Overview) Version() Version { return ParseVersion(string(o.ProjectVersion)) }

// DecodeOverview reads a body of /overview. An object without any of its keys
// (an error page in JSON, say) is an error.
func DecodeOverview(r io.Reader) (Overview, error) {
	var body struct {
		failure
		Overview
		Works Count `json:"works"`
	}
	if err := DecodeWhole(r, &body); err != nil {
		return Overview{}, err
	}
	if !body.Workers.Known {
		body.Workers = body.Works
	}
	if body.ProjectVersion == "" && !body.Workers.Known {
		return Overview{}, body.orElse("neither projectVersion nor workers in it")
	}
	return body.Overview, nil
}

// Member is one row of /system-monitoring-information: a Hazelcast member,
// master or worker; the reply does not say which.
type Member struct {
	Address    Address // "" when the row does not name it
	Master     bool
	Processors Count // CPU cores the JVM sees
	CPU        Ratio // load of the process, of all cores
	Memory     Ratio // heap used of heap max
}

// DecodeMembers reads a body of /system-monitoring-information. Rows without
// host and port are members without an address; of two rows with one address
// the first counts. None with one is an error: whoever answers is a member.
func DecodeMembers(r io.Reader) ([]Member, error) {
	members := []Member{}
	seen := map[Address]bool{}
	err := EachElement(r, func(read ReadValue) error {
		var row struct {
			Master     Flag       `json:"isMaster"`
			Host       Text       `json:"host"`
			Port       Text       `json:"port"`
			Processors Count      `json:"processors"`
			CPU        percentage `json:"load.process"`
			Memory     percentage `json:"heap.memory.used/max"`
		}
		if err := read(&row); err != nil {
			return err
		}
		addr, ok := JoinAddress(string(row.Host), string(row.Port))
		if ok && seen[addr] {
			return nil
		}
		if len(members) == maxMembers {
			return fmt.Errorf("more than %d members", maxMembers)
		}
		if ok {
			seen[addr] = true
		}
		members = append(members, Member{
			Address: addr, Master: row.Master.Value,
			Processors: row.Processors, CPU: row.CPU.Ratio, Memory: row.Memory.Ratio,
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(seen) == 0 {
		return nil, errors.New("no member with host and port in it")
	}
	return members, nil
}

// Worker is one worker in /pending-jobs or /resource/workers. UsedSlots and the
// fields after MemUsage only the latter has, from 3.0 on.
type Worker struct {
	Address                  Address
	RawAddress               Text   `json:"address"`
	TotalSlots               Count  `json:"totalSlots"`
	FreeSlots                Count  `json:"freeSlots"`
	UsedSlots                Count  `json:"usedSlots"`
	Dynamic                  Flag   `json:"dynamicSlot"`
	CPUUsage                 Ratio  `json:"cpuUsage"`
	MemUsage                 Ratio  `json:"memUsage"`
	RunningJobIDs            []Text `json:"runningJobIds"` // nil: not said
	TotalCPUCores            Number `json:"totalCpuCores"`
	AvailableCPUCores        Number `json:"availableCpuCores"`
	TotalHeapMemoryBytes     Number `json:"totalHeapMemoryBytes"`
	AvailableHeapMemoryBytes Number `json:"availableHeapMemoryBytes"`
}

// nameWorkers sets Address of each worker. A worker without a readable address
// makes the whole list useless: the rest would look like all there are.
func nameWorkers(workers []Worker) ([]Worker, error) {
	if len(workers) > maxMembers {
		return nil, fmt.Errorf("%d workers, more than %d", len(workers), maxMembers)
	}
	named := workers[:0]
	seen := make(map[Address]bool, len(workers))
	for _, w := range workers {
		addr, ok := ParseAddress(string(w.RawAddress))
		if !ok {
			return nil, fmt.Errorf("worker address %q is not host:port", clip(string(w.RawAddress)))
		}
		if seen[addr] {
			continue
		}
		seen[addr] = true
		w.Address = addr
		named = append(named, w)
	}
	return named, nil
}

// ResourceWorkers is the reply of /resource/workers (3.0+).
type ResourceWorkers struct {
	// Available false means that the master does not know its workers just now
	// (election, membership change), not that there are none.
	Available   bool
	CollectedAt Moment
	Workers     []Worker
}

// DecodeResourceWorkers reads a body of /resource/workers.
func DecodeResourceWorkers(r io.Reader) (ResourceWorkers, error) {
	var body struct {
		failure
		Available   Flag     `json:"available"`
		CollectedAt Moment   `json:"collectedAt"`
		Workers     []Worker `json:"workers"`
	}
	if err := DecodeWhole(r, &body); err != nil {
		return ResourceWorkers{}, err
	}
	if body.Available.Known && !body.Available.Value {
		return ResourceWorkers{CollectedAt: body.CollectedAt}, nil
	}
	if body.Workers == nil {
		return ResourceWorkers{}, body.orElse("no workers in it")
	}
	workers, err := nameWorkers(body.Workers)
	if err != nil {
		return ResourceWorkers{}, err
	}
	return ResourceWorkers{Available: true, CollectedAt: body.CollectedAt, Workers: workers}, nil
}

// lackOfSlots stands in the error of a job that found too few slots.
const lackOfSlots = "NoEnoughResourceException"

// HoldPrefix begins the name of a job that holds the slots of a worker until it
// is gone. That it fails then, or finds no slots, is no rejection.
const HoldPrefix = "zeta-scaler-hold-"

// FailedJob is one job of /finished-jobs/FAILED.
type FailedJob struct {
	ID int64
	// NoResources is true when the error names NoEnoughResourceException, unless
	// the job was there to hold a worker's slots.
	NoResources bool
}

// FailedJobs is the reply of /finished-jobs/FAILED.
type FailedJobs struct {
	Jobs []FailedJob
	// Cut is why the reply was not read to its end, nil if it was: then Jobs are
	// some of those that there are.
	Cut error
}

// DecodeFailedJobs reads a body of /finished-jobs/FAILED job by job, because
// each carries a whole job graph. Jobs of another status and jobs without a
// readable id are left out. It fails when nothing of the list could be read.
func DecodeFailedJobs(r io.Reader) (FailedJobs, error) {
	type entry struct {
		ID     Text `json:"jobId"`
		Name   Text `json:"jobName"`
		Status Text `json:"jobStatus"`
		Error  Text `json:"errorMsg"`
	}
	jobs, cut, err := collect(r, func(job *entry) (FailedJob, bool) {
		id, err := strconv.ParseInt(string(job.ID), 10, 64)
		rejected := strings.Contains(string(job.Error), lackOfSlots) && !strings.HasPrefix(string(job.Name), HoldPrefix)
		return FailedJob{ID: id, NoResources: rejected}, err == nil && (job.Status == "" || job.Status == "FAILED")
	})
	return FailedJobs{Jobs: jobs, Cut: cut}, err
}

// failure is what Zeta writes in place of a reply, sometimes with status 200:
// {"status":"fail","message":"Target cannot be null!"}.
type failure struct {
	Status  Text `json:"status"`
	Message Text `json:"message"`
}

func (f failure) orElse(problem string) error {
	if f.Status == "fail" {
		return fmt.Errorf("failed: %s", clip(string(f.Message)))
	}
	return errors.New(problem)
}

// DecodeWhole reads a reply that is one JSON value. Lists that are absurdly long
// or deep are refused before they are unpacked.
func DecodeWhole(r io.Reader, into any) error {
	body, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	return decodeBytes(body, into)
}

func decodeBytes(body []byte, into any) error {
	if err := checkLists(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	return nil
}

// checkLists refuses a body with a list of more than maxElements, lists of more
// than maxAllElements together, or nesting beyond maxDepth, before it is
// unpacked. It needs no valid JSON: what is not is found out later.
func checkLists(body []byte) error {
	var open []int // elements so far of each list around, -1 for an object
	all, inString := 0, false
	for i := 0; i < len(body); i++ {
		if len(open) > maxDepth {
			return fmt.Errorf("nested deeper than %d", maxDepth)
		}
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[':
			open = append(open, 0)
		case c == '{':
			open = append(open, -1)
		case c == ']' || c == '}':
			open = open[:max(0, len(open)-1)]
		case c == ',' && len(open) > 0 && open[len(open)-1] >= 0:
			if open[len(open)-1]++; open[len(open)-1] >= maxElements {
				return fmt.Errorf("a list of more than %d", maxElements)
			}
			if all++; all >= maxAllElements {
				return fmt.Errorf("lists of more than %d together", maxAllElements)
			}
		}
	}
	return nil
}
