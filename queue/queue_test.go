package queue

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type message struct{ identity, body string }

func newQueue(limit int) *Queue[message] {
	return New(limit, func(m message) string { return m.identity })
}

// TestQueueLaws: the queue never holds more than its limit, nor two items of
// one identity; what is in it is the newest; and every item that was put in was
// taken, replaced, dropped or is still there.
func TestQueueLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(rt, "limit")
		q := newQueue(limit)
		newest := map[string]int{}
		var flight []message
		put, taken, dropped, serial := 0, 0, 0, 0
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}).Draw(rt, "id")
				serial++
				if q.of[id] == nil {
					put++ // a replacement takes the place of another
				}
				newest[id] = serial
				dropped += q.Put(message{identity: id, body: strconv.Itoa(serial)})
			},
			"take": func(rt *rapid.T) {
				flight = q.Take(rapid.IntRange(1, 4).Draw(rt, "n"))
				taken += len(flight)
			},
			"put back": func(*rapid.T) {
				replaced := 0
				for _, m := range flight {
					if q.of[m.identity] != nil {
						replaced++
					}
				}
				lost := q.PutBack(flight)
				dropped += lost
				put += len(flight) - replaced
				flight = nil
			},
			"resize": func(rt *rapid.T) {
				flight = nil // else what was dropped for want of room could come back in an older form
				limit = rapid.IntRange(1, 6).Draw(rt, "limit")
				dropped += q.Resize(limit)
			},
			"": func(rt *rapid.T) {
				require.LessOrEqual(rt, q.Len(), limit)
				require.Len(rt, q.of, q.Len())
				require.Equal(rt, put, taken+dropped+q.Len())
				for e := q.order.Front(); e != nil; e = e.Next() {
					m := e.Value.(message)
					require.Equal(rt, strconv.Itoa(newest[m.identity]), m.body)
				}
			},
		})
	})
}

func TestQueueOrder(t *testing.T) {
	q := newQueue(3)
	m := func(id, body string) message { return message{identity: id, body: body} }
	require.Equal(t, 1, q.Put(m("a", "1"), m("b", "1"), m("c", "1"), m("b", "2"), m("d", "1")))
	batch := q.Take(2)
	require.Equal(t, []message{m("b", "2"), m("c", "1")}, batch)
	require.Zero(t, q.Put(m("c", "2")))
	require.Zero(t, q.PutBack(batch), "c was replaced meanwhile")
	require.Equal(t, []message{m("b", "2"), m("d", "1"), m("c", "2")}, q.Take(9))
	require.Empty(t, q.Take(9))
}

func TestItemsWithoutIdentity(t *testing.T) {
	q := New[int](2, nil)
	require.Equal(t, 1, q.Put(1, 1, 2))
	require.Equal(t, 2, q.Len())
	require.Equal(t, 2, q.Limit())
	<-q.Filled()
	require.Equal(t, []int{1}, q.Take(1))
	require.Zero(t, q.PutBack([]int{1}))
	require.Equal(t, []int{1, 2}, q.Take(3))
	require.Empty(t, q.Take(1))
}
