package drain_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

func (m *model) Cluster(context.Context) (c control.Cluster, err error) {
	return c, m.chance("cluster", false, func() error {
		c.Version, c.Pending = "2.3.8", m.pending
		c.Members = append(c.Members, control.Member{Address: "master:5801", Master: true})
		for _, w := range m.alive {
			c.Members = append(c.Members, control.Member{Address: w + ":5801", Lite: true})
			used := m.used(w)
			c.Slots.Workers++
			c.Slots.Used += used
			c.Slots.Total += used
			if !m.dynamic {
				c.Slots.Total += m.slots - used
			}
		}
		for _, j := range m.jobs {
			if !j.Status.Ended() {
				c.Running++
			}
		}
		return nil
	})
}

func (m *model) Worker(_ context.Context, name string) (s control.Slots, err error) {
	if m.untold {
		return s, control.ErrUnsupported
	}
	return s, m.chance("worker", false, func() error {
		if !slices.Contains(m.alive, name) {
			return nil
		}
		s = control.Slots{Workers: 1, Used: m.used(name), Total: m.slots}
		if m.dynamic {
			s.Total = s.Used
		}
		return nil
	})
}

func (m *model) Tagged(_ context.Context, tags map[string]string, but string) (s control.Slots, err error) {
	return s, m.chance("tagged", false, func() error {
		for _, name := range m.alive {
			if only, bound := tags["worker"]; name != but && (!bound || only == name) {
				s.Workers, s.Used, s.Total = s.Workers+1, s.Used+m.used(name), s.Total+m.slots
			}
		}
		return nil
	})
}

func (m *model) Placed(_ context.Context, address string) (gs []control.TaskGroup, err error) {
	if !m.threads {
		return nil, control.ErrUnsupported
	}
	return gs, m.chance("placed", false, func() error {
		name, _, _ := strings.Cut(address, ":")
		if !slices.Contains(m.alive, name) {
			return errors.New("no such member")
		}
		for _, id := range m.order {
			for i := range m.jobs[id].on[name] {
				gs = append(gs, control.TaskGroup{Job: id, Pipeline: 1, ID: int64(i)})
			}
		}
		return nil
	})
}

func (m *model) Jobs(context.Context) (out []control.Job, err error) {
	return out, m.chance("jobs", false, func() error {
		for _, id := range m.order {
			if j := m.jobs[id]; !j.Status.Ended() {
				out = append(out, m.told(j))
			}
		}
		return nil
	})
}

func (m *model) told(j *modelJob) control.Job {
	t := j.Job
	t.Received = j.read
	if j.Status == control.Running && !j.readsFrom.IsZero() && j.failAt.IsZero() {
		t.Received += int64(m.clock.t.Sub(j.readsFrom) / (100 * time.Millisecond))
	}
	return t
}

func (m *model) Job(_ context.Context, id string) (j control.Job, err error) {
	return j, m.chance("job", false, func() error {
		is := m.jobs[id]
		if is == nil || is.unknown {
			return control.ErrNoJob
		}
		j = m.told(is)
		return nil
	})
}

func (m *model) StopWithSavepoint(_ context.Context, id string) error {
	return m.chance("stop", true, func() error {
		j := m.jobs[id]
		if j == nil {
			m.problem("job %s, which nobody knows, was stopped", id)
			return nil
		}
		j.stops++
		m.note("stop %s (%s)", id, j.Status)
		if j.Status != control.Running && j.Status != control.DoingSavepoint {
			return nil
		}
		if j.Mode == control.Batch {
			m.problem("job %s in batch mode was stopped", id)
		}
		j.Status = control.DoingSavepoint
		j.doneAt = m.clock.t.Add(200*time.Millisecond + time.Duration(m.rng.IntN(900))*time.Millisecond)
		if m.f.draw("savepoint", "stuck") != "" {
			j.doneAt = time.Time{}
		}
		return nil
	})
}

func (m *model) Restore(_ context.Context, id, name string, _ control.Config) error {
	return m.chance("restore", true, func() error {
		j := m.jobs[id]
		m.note("restore %s (%s)", id, j.Status)
		switch {
		case j == nil || name != j.Name:
			m.problem("job %s was submitted as %q", id, name)
		case j.Status == control.DoingSavepoint:
			m.problem("job %s was restored during its savepoint", id)
		case !j.Status.Ended():
		case j.Status == control.Canceled || j.Status == control.Finished || !j.checkpoint:
			m.problem("job %s began anew, it was %s", id, j.Status)
		case m.f.draw("restore", "ignored") != "":
		case m.f.draw("restore", "damaged") != "":
			return fmt.Errorf("%w: Failed to read checkpoint data", control.ErrRefused)
		default:
			j.unknown, j.Status, j.readsFrom, j.failAt = false, control.Running, m.clock.t, time.Time{}
			if !m.place(j) {
				j.failAt = m.clock.t.Add(9 * time.Second)
			}
		}
		return nil
	})
}

func (m *model) Hold(_ context.Context, id, worker string, slots int) error {
	return m.chance("hold", true, func() error {
		if m.jobs[id] != nil {
			return fmt.Errorf("%w: already submitted", control.ErrRefused)
		}
		j := &modelJob{
			Job:   control.Job{ID: id, Name: "zeta-scaler-hold-" + worker, Status: control.Running, Mode: control.Streaming, Created: m.clock.t},
			slots: slots, hold: true,
		}
		if !slices.Contains(m.alive, worker) || m.free(worker) < slots || m.dynamic {
			j.Status = control.Failed
		} else {
			j.on = map[string]int{worker: slots}
		}
		m.note("hold %s on %s: %s", id, worker, j.Status)
		m.jobs[id] = j
		m.order = append(m.order, id)
		return nil
	})
}

func (m *model) Cancel(_ context.Context, id string) error {
	return m.chance("cancel", true, func() error {
		j := m.jobs[id]
		switch {
		case j == nil:
		case !j.hold:
			m.problem("job %s was cancelled", id)
		case !j.Status.Ended():
			m.note("unhold %s", id)
			j.Status, j.on = control.Canceled, nil
		}
		return nil
	})
}

func (m *model) Config(_ context.Context, j control.Job) (control.Config, error) {
	if !m.configs[j.ID] {
		return control.Config{}, fmt.Errorf("job %s is not registered", j.ID)
	}
	return control.Config{Format: "json", Text: []byte("{}")}, nil
}

// cancelByHand is what somebody else does: the job's checkpoints go with it.
func (m *model) cancelByHand(id string) {
	if j := m.jobs[id]; !j.Status.Ended() {
		m.note("somebody cancels %s", id)
		j.Status, j.on, j.doneAt, j.checkpoint = control.Canceled, nil, time.Time{}, false
	}
}
