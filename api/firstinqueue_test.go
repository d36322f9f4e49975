package api

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The job that waits first stands in the list, in the first card, in status and
// explain, and the list is searched for it.
func TestFirstInQueueIsShown(t *testing.T) {
	o := options(t)
	h := newHandler(t, o)
	const words = "First in the queue: job 1179806978274033665 needs 4 slots, lacks 2, waits 6m52s"
	list := rowsOf(pageOf(t, o, "/?q=1179806978274033665"))
	require.Len(t, list, 1)
	require.Contains(t, list[0][4], words+".")
	require.Contains(t, mainOf(t, o, "/?scope=prod"), words)
	want := scaleOut("prod").FirstInQueue
	require.Equal(t, want, decoded[Status](t, call(h, http.MethodGet, "/autoscaler/status?scope=prod")).Scopes[0].FirstInQueue)
	require.Equal(t, want, decoded[Explanation](t, call(h, http.MethodGet, "/autoscaler/explain?scope=prod")).FirstInQueue)
	require.Contains(t, mainOf(t, o, "/?scope="+url.QueryEscape(hostile)), "First in the queue: job "+hostile)

	require.NotContains(t, mainOf(t, o, "/?scope=empty"), "First in the queue")
	require.Nil(t, decoded[Status](t, call(h, http.MethodGet, "/autoscaler/status?scope=empty")).Scopes[0].FirstInQueue)
}

// A decision of the past names no job, whether it is computed again or was
// recorded; nor does one that is out of date.
func TestFirstInQueueIsAsNewAsTheDecision(t *testing.T) {
	o := options(t)
	past := blind("prod")
	o.Past = fakePast{at: &past}
	h := newHandler(t, o)
	for _, target := range []string{"scope=prod&at=2026-03-14T09:10:05Z", "scope=prod&at=2026-03-14T09:25:31Z", "scope=prod&id=3"} {
		require.Nil(t, decoded[Explanation](t, call(h, http.MethodGet, "/autoscaler/explain?"+target)).FirstInQueue, target)
		require.NotContains(t, mainOf(t, o, "/?"+target), "First in the queue", target)
	}

	late := scaleOut("prod").Recommendation.ValidUntil.Add(time.Second)
	o.Now = func() time.Time { return late }
	h = newHandler(t, o)
	require.Nil(t, decoded[Status](t, call(h, http.MethodGet, "/autoscaler/status?scope=prod")).Scopes[0].FirstInQueue)
	require.Nil(t, decoded[Explanation](t, call(h, http.MethodGet, "/autoscaler/explain?scope=prod")).FirstInQueue)
	for _, target := range []string{"/", "/?scope=prod"} {
		require.NotContains(t, mainOf(t, o, target), "First in the queue", target)
	}
	require.Contains(t, mainOf(t, o, "/?q=1179806978274033665"), "None of the 3 scopes is like that", "a job that is not shown is not found")
}
