package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// members are the nodes of the cluster, and the master among them. Which of them
// are lite Hazelcast alone tells, on its own port: where REST v2 is asked and
// that port does not answer, told is false and none counts as lite.
func (e *Engine) members(ctx context.Context) (members []Member, master zeta.Address, told bool, err error) {
	node, err := e.client.Node(ctx)
	if err != nil {
		return nil, "", false, err
	}
	rows, err := e.client.Members(ctx)
	if err != nil {
		return nil, "", false, fmt.Errorf("asking who is the master: %w", err)
	}
	masters := 0
	for _, m := range rows {
		if m.Master {
			masters, master = masters+1, m.Address
		}
	}
	if masters != 1 || master == "" {
		return nil, "", false, fmt.Errorf("asking who is the master: %d members say that they are, with an address", masters)
	}
	members, err = e.hazelcastMembers(ctx, master)
	told = err == nil
	switch {
	case told:
	case node.V1:
		return nil, "", false, fmt.Errorf("asking for the members: %w", err)
	default:
		members = nil
		for _, m := range rows {
			members = append(members, Member{Address: string(m.Address)})
		}
	}
	for i := range members {
		members[i].Master = members[i].Address == string(master)
	}
	return members, master, told, nil
}

func (e *Engine) hazelcastMembers(ctx context.Context, master zeta.Address) ([]Member, error) {
	r, err := e.hazelcast(ctx, master, "/hazelcast/rest/cluster")
	if err != nil {
		return nil, err
	}
	return zeta.Ask(ctx, e.client, r, decodeMembers)
}

// settled asks whether all of Zeta's state has its backups; nil if that cannot
// be told.
func (e *Engine) settled(ctx context.Context, master zeta.Address) *bool {
	r, err := e.hazelcast(ctx, master, "/hazelcast/health")
	if err != nil {
		return nil
	}
	settled, err := zeta.Ask(ctx, e.client, r, decodeHealth)
	if err != nil {
		return nil
	}
	return &settled
}

// hazelcast is a request to Hazelcast's own API: at the node that answers if
// that is REST v1, else at the master's port for members.
func (e *Engine) hazelcast(ctx context.Context, master zeta.Address, path string) (zeta.Request, error) {
	node, err := e.client.Node(ctx)
	r := zeta.Request{Path: path, Hazelcast: true}
	if err == nil && !node.V1 {
		r.Node = (&url.URL{Scheme: "http", Host: master.HostPort()}).String()
	}
	return r, err
}

// decodeMembers reads a body of /hazelcast/rest/cluster.
func decodeMembers(r io.Reader) ([]Member, error) {
	var body struct {
		Members []struct {
			Address zeta.Text `json:"address"`
			Lite    zeta.Flag `json:"liteMember"`
		} `json:"members"`
	}
	if err := zeta.DecodeWhole(r, &body); err != nil {
		return nil, err
	}
	if len(body.Members) == 0 {
		return nil, errors.New("no members in it")
	}
	var members []Member
	for _, m := range body.Members {
		addr, ok := zeta.ParseAddress(string(m.Address))
		if !ok {
			return nil, errors.New("a member without an address in it")
		}
		members = append(members, Member{Address: string(addr), Lite: m.Lite.Value})
	}
	return members, nil
}

// decodeHealth reads a body of /hazelcast/health.
func decodeHealth(r io.Reader) (settled bool, err error) {
	var body struct {
		Safe  zeta.Flag  `json:"clusterSafe"`
		Queue zeta.Count `json:"migrationQueueSize"`
		State zeta.Text  `json:"clusterState"`
	}
	if err := zeta.DecodeWhole(r, &body); err != nil {
		return false, err
	}
	if !body.Safe.Known || !body.Queue.Known {
		return false, errors.New("neither clusterSafe nor migrationQueueSize in it")
	}
	return body.Safe.Value && body.Queue.Value == 0 && (body.State == "" || body.State == "ACTIVE"), nil
}
