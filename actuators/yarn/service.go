package yarn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// States of a service, a component and a container, as far as they are told
// apart. There are more, and later versions will have others.
const (
	stable   = "STABLE"
	started  = "STARTED"
	flexed   = "FLEX"
	accepted = "ACCEPTED"

	ready = "READY"
)

// list is a JSON array; some versions leave the brackets out around one element.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if bytes.Equal(b, []byte("null")) {
		*l = nil
		return nil
	}
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]T)(l))
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*l = list[T]{one}
	return nil
}

// service is what its ApplicationMaster says about a service.
type service struct {
	Name string `json:"name"`
	// ID is that of the application that runs it.
	ID         string          `json:"id"`
	State      string          `json:"state"`
	Components list[component] `json:"components"`
}

// component is a part of a service, all of whose instances are alike.
type component struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Wanted is how many instances the ApplicationMaster keeps up. The number in
	// the service's definition can be another.
	Wanted        int             `json:"number_of_containers"`
	Containers    list[container] `json:"containers"`
	RestartPolicy string          `json:"restart_policy"`
	// Decommissioned are instances that were removed by name.
	Decommissioned list[string] `json:"decommissioned_instances"`
}

// container is an instance with a container. One that waits for a container is
// not listed.
type container struct {
	State string `json:"state"`
	IP    string `json:"ip"`
	// Instance is such as worker-2; the number is its COMPONENT_ID.
	Instance string `json:"component_instance_name"`
	// Older is Instance in Hadoop 3.1.0.
	Older string `json:"component_name"`
}

func (c *container) name() string { return cmp.Or(c.Instance, c.Older) }

// id is the number in the name, -1 if there is none.
func (c *container) id() int { return instanceID(c.name()) }

func instanceID(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// runs reports whether the service's ApplicationMaster answers, so that there are
// numbers and it can be asked for others.
func (s *service) runs() bool {
	return (s.State == stable || s.State == started || s.State == flexed) && len(s.Components) > 0
}

func (s *service) component(name string) *component {
	i := slices.IndexFunc(s.Components, func(c component) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Components[i]
}

func (s *service) names() string {
	var names []string
	for _, c := range s.Components {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// ready counts the instances that are READY. One that has FAILED stays listed
// until it is replaced.
func (c *component) ready() int {
	n := 0
	for i := range c.Containers {
		if c.Containers[i].State == ready {
			n++
		}
	}
	return n
}

// ends reports whether an instance has no process any more.
func (c *container) ends() bool {
	switch c.State {
	case "FAILED", "STOPPED", "SUCCEEDED", "FAILED_UPGRADE":
		return true
	}
	return false
}

// running are the instances that have a process, those first that a plain flex
// would remove first: the highest number.
func (c *component) running() []container {
	var out []container
	for _, k := range c.Containers {
		if !k.ends() {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b container) int { return cmp.Compare(b.id(), a.id()) })
	return out
}

// instance is the one of that name, nil if it is not listed.
func (c *component) instance(name string) *container {
	i := slices.IndexFunc(c.Containers, func(k container) bool { return k.name() == name })
	if i < 0 {
		return nil
	}
	return &c.Containers[i]
}

// removed reports whether an instance was removed by name.
func (c *component) removed(name string) bool {
	return slices.Contains(c.Decommissioned, name) && c.instance(name) == nil
}

// least is the lowest number of instances that ends no process. A flex to a lower
// number removes the highest ids first, whether they run or wait. Those that wait
// may have ids below the highest that runs: so many ids of there as are not
// running and were not removed by name are taken to be waiting.
func (c *component) least() int {
	running := c.running()
	waiting := c.Wanted - len(running)
	if waiting <= 0 {
		return c.Wanted
	}
	if len(running) == 0 {
		return 0
	}
	highest := running[0].id()
	holes := highest + 1 - len(running)
	for _, name := range c.Decommissioned {
		if id := instanceID(name); id >= 0 && id < highest && c.instance(name) == nil {
			holes--
		}
	}
	return len(running) + min(waiting, max(0, holes))
}
