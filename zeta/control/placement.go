package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// Placed names the task groups that run on the member of that address, of which
// the host is enough where it has one member. It names and proves nothing:
// threads may bear no job's name. It fails with
// ErrUnsupported where the worker serves no REST and the master does not know.
func (e *Engine) Placed(ctx context.Context, address string) ([]TaskGroup, error) {
	if address == "" {
		return nil, fmt.Errorf("asking a worker for its jobs: its address is not known: %w", ErrUnsupported)
	}
	groups, err := e.placed(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("asking worker %s for its jobs: %w", address, err)
	}
	return groups, nil
}

// memberAt finds the member of an address, which may lack the port.
func memberAt(address string, members []Member) (zeta.Address, error) {
	if addr, ok := zeta.ParseAddress(address); ok && slices.ContainsFunc(members, func(m Member) bool { return zeta.Address(m.Address) == addr }) {
		return addr, nil
	}
	var found []Member
	for _, m := range members {
		if zeta.SameHost(address, zeta.Address(m.Address)) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no member of the cluster has that address; there are %s", addresses(members))
	case 1:
		return zeta.Address(found[0].Address), nil
	}
	return "", fmt.Errorf("several members of the cluster have that host: %s", addresses(found))
}

func (e *Engine) placed(ctx context.Context, address string) ([]TaskGroup, error) {
	node, err := e.client.Node(ctx)
	if err != nil {
		return nil, err
	}
	var members []Member
	if err := e.alone(ctx, func() (err error) { members, _, _, err = e.members(ctx); return err }); err != nil {
		return nil, err
	}
	addr, err := memberAt(address, members)
	if err != nil {
		return nil, err
	}
	base, err := nodeOf(node, addr, members)
	if err != nil {
		return nil, err
	}
	if base == "" {
		return e.booked(ctx, addr, errors.New("several members have its host, so its REST port is not known"))
	}
	groups, err := zeta.Ask(ctx, e.client, zeta.Request{Node: base, Path: "/running-threads", Long: true}, decodeThreads)
	if noPath(err, node.V1) {
		groups, err = zeta.Ask(ctx, e.client, zeta.Request{Node: base, Path: "/thread-dump", Long: true}, decodeThreads)
	}
	if shut(err) || noPath(err, node.V1) {
		return e.booked(ctx, addr, err)
	}
	return groups, err
}

// booked are the jobs that the master's book has for the worker, which from
// 2.3.13 on it shows with the queue. why is the reason for which the worker
// itself could not be asked.
func (e *Engine) booked(ctx context.Context, addr zeta.Address, why error) ([]TaskGroup, error) {
	var p zeta.PendingJobs
	err := e.alone(ctx, func() (err error) { p, _, err = e.client.PendingJobs(ctx); return err })
	if errors.Is(err, zeta.ErrUnsupported) {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, why)
	}
	if err != nil {
		return nil, err
	}
	for _, w := range p.Workers {
		if w.Address != addr || w.RunningJobIDs == nil {
			continue
		}
		groups := []TaskGroup{}
		for _, id := range w.RunningJobIDs {
			if _, err := parseID(string(id)); err != nil {
				return nil, err
			}
			groups = append(groups, TaskGroup{Job: string(id)})
		}
		return sorted(groups), nil
	}
	return nil, fmt.Errorf("%w: %w", ErrUnsupported, why)
}

// nodeOf is where a member's own REST API is: in REST v1 at its address, in REST
// v2 at the port and path of the node that answers, on its host. It is empty if
// that would be the API of another member on the same host.
func nodeOf(node zeta.Node, addr zeta.Address, members []Member) (string, error) {
	u, err := url.Parse(node.URL)
	if err != nil {
		return "", errors.New("the node's URL cannot be read")
	}
	shared := 0
	for _, m := range members {
		if zeta.Address(m.Address).Host() == addr.Host() {
			shared++
		}
	}
	switch {
	case node.V1:
		return (&url.URL{Scheme: u.Scheme, Host: addr.HostPort()}).String(), nil
	case shared > 1:
		return "", nil
	}
	u.Host = net.JoinHostPort(addr.Host(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	return u.String(), nil
}

func addresses(members []Member) string {
	const shown = 10
	var names []string
	for _, m := range members[:min(len(members), shown)] {
		names = append(names, m.Address)
	}
	if more := len(members) - shown; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// shut reports whether a node serves no REST, or none to us.
func shut(err error) bool {
	e, ok := errors.AsType[*zeta.StatusError](err)
	return ok && (e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden) || zeta.ServesNoREST(err)
}

// noPath reports whether a node says that it has no such path, as REST v1 does
// with 400 or 204.
func noPath(err error, v1 bool) bool {
	e, ok := errors.AsType[*zeta.StatusError](err)
	return ok && (e.Code == http.StatusNotFound || v1 && (e.Code == http.StatusBadRequest || e.Code == http.StatusNoContent))
}

var taskGroup = regexp.MustCompile(`TaskGroupLocation\{jobId=(-?\d{1,19}), pipelineId=(\d{1,9}), taskGroupId=(\d{1,18})\}`)

// decodeThreads reads a body of /running-threads or /thread-dump.
func decodeThreads(r io.Reader) ([]TaskGroup, error) {
	groups := []TaskGroup{}
	seen := map[TaskGroup]bool{}
	err := zeta.EachElement(r, func(read zeta.ReadValue) error {
		var thread struct {
			Name string `json:"threadName"`
		}
		if err := read(&thread); err != nil {
			return err
		}
		m := taskGroup.FindStringSubmatch(thread.Name)
		if m == nil {
			return nil
		}
		g := TaskGroup{Job: m[1]}
		if _, err := parseID(g.Job); err != nil {
			return err
		}
		g.Pipeline, _ = strconv.Atoi(m[2])
		g.ID, _ = strconv.ParseInt(m[3], 10, 64)
		if !seen[g] {
			seen[g] = true
			groups = append(groups, g)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sorted(groups), nil
}

func sorted(groups []TaskGroup) []TaskGroup {
	slices.SortFunc(groups, func(a, b TaskGroup) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.ID, b.ID))
	})
	return slices.Compact(groups)
}
