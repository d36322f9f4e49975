package alerts

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestQueueLaws: the queue never holds more than its limit, nor two messages of
// one alert; what is in it is the newest; and every message that was put in was
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
				dropped += q.put([]message{{identity: id, body: []byte(strconv.Itoa(serial))}})
			},
			"take": func(rt *rapid.T) {
				flight = q.take(rapid.IntRange(1, 4).Draw(rt, "n"))
				taken += len(flight)
			},
			"put back": func(*rapid.T) {
				replaced := 0
				for _, m := range flight {
					if q.of[m.identity] != nil {
						replaced++
					}
				}
				lost := q.putBack(flight)
				dropped += lost
				put += len(flight) - replaced
				flight = nil
			},
			"resize": func(rt *rapid.T) {
				flight = nil // else what was dropped for want of room could come back in an older form
				limit = rapid.IntRange(1, 6).Draw(rt, "limit")
				dropped += q.resize(limit)
			},
			"": func(rt *rapid.T) {
				require.LessOrEqual(rt, q.len(), limit)
				require.Len(rt, q.of, q.len())
				require.Equal(rt, put, taken+dropped+q.len())
				for e := q.order.Front(); e != nil; e = e.Next() {
					m := e.Value.(message)
					require.Equal(rt, strconv.Itoa(newest[m.identity]), string(m.body))
				}
			},
		})
	})
}

func TestQueueOrder(t *testing.T) {
	q := newQueue(3)
	m := func(id, body string) message { return message{identity: id, body: []byte(body)} }
	require.Equal(t, 1, q.put([]message{m("a", "1"), m("b", "1"), m("c", "1"), m("b", "2"), m("d", "1")}))
	batch := q.take(2)
	require.Equal(t, []message{m("b", "2"), m("c", "1")}, batch)
	require.Zero(t, q.put([]message{m("c", "2")}))
	require.Zero(t, q.putBack(batch), "c was replaced meanwhile")
	require.Equal(t, []message{m("b", "2"), m("d", "1"), m("c", "2")}, q.take(9))
	require.Empty(t, q.take(9))
}
