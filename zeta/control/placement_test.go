package control

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const onWorker = "/hazelcast/rest/maps"

func TestPlaced(t *testing.T) {
	e, r := newV1(t, map[string]string{"GET 127.0.0.1:24101" + onWorker + "/thread-dump": "thread-dump"})
	groups, err := e.Placed(t.Context(), "127.0.0.1:24102")
	require.NoError(t, err)
	const job = "1179608743717896193"
	require.Equal(t, []TaskGroup{{Job: job, Pipeline: 1, ID: 1}, {Job: job, Pipeline: 1, ID: 30000}}, groups)

	groups, err = e.Placed(t.Context(), "[127.0.0.1]:24101")
	require.NoError(t, err)
	require.NotNil(t, groups)
	require.Empty(t, groups)
	r.set(map[string]string{"GET 127.0.0.1:24101" + onWorker + "/running-threads": "pending-jobs"})
	groups, err = e.Placed(t.Context(), "127.0.0.1:24101")
	require.NoError(t, err)
	require.Len(t, groups, 2, "the thread dump, where the short list is unknown")
	r.set(map[string]string{"GET 127.0.0.1:24101" + onWorker + "/running-threads": "threads-shared"})
	groups, err = e.Placed(t.Context(), "127.0.0.1:24101")
	require.NoError(t, err)
	require.Empty(t, groups, "threads that are shared bear no job's name")
}

// A platform knows on which host a worker is, and not always on which port.
func TestMemberAt(t *testing.T) {
	members := []Member{{Address: "10.0.0.1:5801"}, {Address: "10.0.0.2:5801"}, {Address: "10.0.0.2:5802"}, {Address: "fd00::1:5801"}, {Address: "worker-3:5801"}}
	for address, want := range map[string]string{
		"10.0.0.1": "10.0.0.1:5801", "10.0.0.1:5801": "10.0.0.1:5801", "[10.0.0.1]:5801": "10.0.0.1:5801", "10.0.0.2:5802": "10.0.0.2:5802",
		"fd00::1": "fd00::1:5801", "[fd00::1]": "fd00::1:5801", "fd00:0::1": "fd00::1:5801", "[fd00::1]:5801": "fd00::1:5801", "Worker-3": "worker-3:5801",
	} {
		got, err := memberAt(address, members)
		require.NoError(t, err, address)
		require.Equal(t, want, string(got), address)
	}
	for address, say := range map[string]string{
		"10.0.0.3": "no member of the cluster has that address", "10.0.0.1:5802": "no member", "fd00::2": "no member", "nonsense": "no member", "host:0": "no member",
		"10.0.0.2": "several members of the cluster have that host: 10.0.0.2:5801, 10.0.0.2:5802",
	} {
		_, err := memberAt(address, members)
		require.ErrorContains(t, err, say, address)
	}
}

// The checkpoint coordinators of the master bear job ids as well.
func TestThreadsOfTheMaster(t *testing.T) {
	e, _ := newV1(t, map[string]string{"GET 127.0.0.1:24100" + onWorker + "/running-threads": "threads-master"})
	groups, err := e.Placed(t.Context(), "127.0.0.1:24100")
	require.NoError(t, err)
	require.Empty(t, groups)
}

func TestPlacedUnknown(t *testing.T) {
	e, r := newV1(t, nil)
	_, err := e.Placed(t.Context(), "")
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = e.Placed(t.Context(), "127.0.0.1:24103")
	require.ErrorIs(t, err, ErrUnsupported, "a worker without REST closes the connection")
	for _, address := range []string{"127.0.0.1:24109", "127.0.0.2:24101", "nonsense", "host:0"} {
		_, err = e.Placed(t.Context(), address)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrUnsupported, address)
	}
	for name, reply := range map[string]string{"fails": fails("500", "x"), "null": ok("null"), "cut": ok(`[{"threadName":"a"}`), "object": ok(`{}`)} {
		r.set(map[string]string{"GET 127.0.0.1:24101" + onWorker + "/running-threads": reply})
		_, err = e.Placed(t.Context(), "127.0.0.1:24101")
		require.Error(t, err, name)
		require.NotErrorIs(t, err, ErrUnsupported, name)
	}
}

// A worker of REST v2 is asked at the port and path of the node that answers.
func TestPlacedV2(t *testing.T) {
	e, r := newV2(t, map[string]string{"GET 10.0.0.2:8080/app/running-threads": ok(
		`[{"threadName":"BlockingWorker-TaskGroupLocation{jobId\u003d2001, pipelineId\u003d2, taskGroupId\u003d5}"}]`)})
	groups, err := e.Placed(t.Context(), "10.0.0.2:5801")
	require.NoError(t, err)
	require.Equal(t, []TaskGroup{{Job: "2001", Pipeline: 2, ID: 5}}, groups)
	require.Equal(t, "GET 10.0.0.2:8080/app/running-threads", r.last())
}

// Where workers share a host, the port does not tell which of them answers; the
// master's book names their jobs.
func TestPlacedByTheMastersBook(t *testing.T) {
	const members = `{"members":[{"address":"[127.0.0.1]:24640"},{"address":"[127.0.0.1]:24641","liteMember":true},{"address":"[127.0.0.1]:24643","liteMember":true},{"address":"[127.0.0.1]:24649","liteMember":true}]}`
	e, r := newV2(t, map[string]string{
		v2 + "/system-monitoring-information":           ok(`[{"isMaster":"true","host":"127.0.0.1","port":"24640"}]`),
		"GET 127.0.0.1:24640/hazelcast/rest/cluster":    ok(members),
		"GET 127.0.0.1:8080/app/running-threads":        ok(`[]`),
		"GET 127.0.0.1:24640/hazelcast/health":          ok(`{}`),
		"GET 127.0.0.1:24643/hazelcast/running-threads": ok(`[]`),
	})
	groups, err := e.Placed(t.Context(), "127.0.0.1:24643")
	require.NoError(t, err)
	require.Equal(t, []TaskGroup{{Job: "2001"}}, groups)
	groups, err = e.Placed(t.Context(), "127.0.0.1:24641")
	require.NoError(t, err)
	require.Empty(t, groups)
	require.NotNil(t, groups)
	_, err = e.Placed(t.Context(), "127.0.0.1:24649")
	require.ErrorIs(t, err, ErrUnsupported, "not in the book")
	for _, line := range r.all() {
		require.NotContains(t, line, "running-threads", "another member might answer there")
	}
	r.set(map[string]string{v2 + "/pending-jobs?limit=20": "=HTTP/1.1 500\n\n"})
	_, err = e.Placed(t.Context(), "127.0.0.1:24643")
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrUnsupported)
}
