package yarn

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// capacityAfter is how long instances are missing before the queue and the nodes
// are asked about, capacityEvery how often they are then, one with each reading of
// the service.
const (
	capacityAfter = 5 * time.Second
	capacityEvery = 10 * time.Second
)

// capacity is what was last read of queue and nodes.
type capacity struct {
	mu           sync.Mutex
	queue, nodes string
	next         time.Time
	// turn is which of the two is read next.
	turn int
}

// enough forgets what was read: nothing is missing.
func (k *capacity) enough() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue, k.nodes, k.next, k.turn = "", "", time.Time{}, 0
}

// shortage says why not all instances are up, for people: what waits, and the
// figures of the queue and the nodes.
func (a *Actuator) shortage(ctx context.Context, c *component) string {
	running := len(c.running())
	text := fmt.Sprintf("component %s is %s: %d requested, %d have a process, %d READY", a.o.Component, c.State, c.Wanted, running, c.ready())
	if failed := len(c.Containers) - running; failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if c.Wanted <= running {
		return text
	}
	if figures := a.figures(ctx); figures != "" {
		text += "; " + figures
	}
	return text
}

// figures are those of queue and nodes, of which at most one is read anew.
func (a *Actuator) figures(ctx context.Context) string {
	k := &a.capacity
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next.IsZero() {
		k.next = a.now().Add(capacityAfter)
	}
	if !a.now().Before(k.next) {
		if k.turn == 0 {
			k.queue = a.queueFigures(ctx)
		} else {
			k.nodes = a.nodeFigures(ctx)
			k.next = a.now().Add(capacityEvery)
		}
		k.turn = 1 - k.turn
	}
	var said []string
	for _, s := range []string{k.queue, k.nodes} {
		if s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, "; ")
}

// queue is a queue of the CapacityScheduler, with those below it.
type queue struct {
	Path     string  `json:"queuePath"`
	Name     string  `json:"queueName"`
	Used     float64 `json:"absoluteUsedCapacity"`
	Max      float64 `json:"absoluteMaxCapacity"`
	Pending  int     `json:"pendingContainers"`
	Resource struct {
		Memory int `json:"memory"`
	} `json:"resourcesUsed"`
	MaxEffective struct {
		Memory int `json:"memory"`
	} `json:"maxEffectiveCapacity"`
	Queues struct {
		Queue list[queue] `json:"queue"`
	} `json:"queues"`
}

// find looks for a queue by its path or, as older versions tell it, its name.
func (q *queue) find(name string) *queue {
	if name != "" && (q.Path == name || q.Name == name) {
		return q
	}
	for i := range q.Queues.Queue {
		if found := q.Queues.Queue[i].find(name); found != nil {
			return found
		}
	}
	return nil
}

func (a *Actuator) queueFigures(ctx context.Context) string {
	var reply struct {
		Scheduler struct {
			Info struct {
				Type string `json:"type"`
				queue
			} `json:"schedulerInfo"`
		} `json:"scheduler"`
	}
	if err := a.client.get(ctx, rmPath+"/scheduler", nil, &reply); err != nil {
		return "the queue's figures cannot be read: " + err.Error()
	}
	a.mu.Lock()
	name := a.queue
	a.mu.Unlock()
	q := reply.Scheduler.Info.find(name)
	if q == nil {
		return fmt.Sprintf("queue %s: the scheduler (%s) tells no figures of it", name, reply.Scheduler.Info.Type)
	}
	return fmt.Sprintf("queue %s uses %d of at most %d MB (%.0f%% of at most %.0f%% of the cluster), %s there",
		name, q.Resource.Memory, q.MaxEffective.Memory, q.Used, q.Max, scaling.Counted(q.Pending, "container")+scaling.Plural(q.Pending, " waits", " wait"))
}

func (a *Actuator) nodeFigures(ctx context.Context) string {
	var reply struct {
		Nodes struct {
			Node list[struct {
				State     string `json:"state"`
				Available int    `json:"availMemoryMB"`
			}] `json:"node"`
		} `json:"nodes"`
	}
	if err := a.client.get(ctx, rmPath+"/nodes", url.Values{"states": {"RUNNING"}}, &reply); err != nil {
		return "the nodes' figures cannot be read: " + err.Error()
	}
	free, most := 0, 0
	for _, n := range reply.Nodes.Node {
		free += n.Available
		most = max(most, n.Available)
	}
	return fmt.Sprintf("%s %d MB free, at most %d MB on one", scaling.Counted(len(reply.Nodes.Node), "node")+scaling.Plural(len(reply.Nodes.Node), " has", " have"), free, most)
}
