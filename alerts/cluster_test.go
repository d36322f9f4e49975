package alerts_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// look tells the notifier every 15 seconds how a cluster answers, n times.
func (w *world) look(n int, l *contact.Log, err error) {
	w.t.Helper()
	for range n {
		l.Note(err)
		w.n.Clusters([]contact.Status{l.Status()})
		synctest.Wait()
		time.Sleep(15 * time.Second)
	}
}

const minute = 4 // looks

// A cluster that has given no answer for five minutes is an alert of its own. It
// is sent again for as long as that lasts, over a restart too, and is resolved by
// an answer and by nothing else.
func TestClusterDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		l := contact.New("a/b", "http://m1:8080", nil)
		w.look(minute, l, nil)
		silent := time.Now()
		w.look(5*minute, l, errSilent)
		require.Empty(t, w.ams["a"].take())
		w.look(115*minute, l, errSilent)
		sent := w.ams["a"].take()
		require.GreaterOrEqual(t, len(sent), 100, "sent again every minute")
		for _, p := range sent {
			require.Equal(t, map[string]string{"alertname": "ZetaClusterDown", "scope": "a%2Fb", "cluster": "a/b", "severity": "page"}, p.Labels)
			require.False(t, p.resolved())
			require.Equal(t, sent[0].StartsAt, p.StartsAt)
			require.GreaterOrEqual(t, p.EndsAt.Sub(p.at), 4*time.Minute)
		}
		require.WithinDuration(t, silent.Add(5*time.Minute), sent[0].StartsAt, 0)
		require.Equal(t, "a/b: the Zeta cluster gives no answer", sent[0].Annotations["summary"])
		require.Contains(t, sent[0].Annotations["description"], "http://m1:8080 gives no answer since 2000-01-01T00:01:00.000Z; the last one came at ")
		require.Equal(t, "connection refused", sent[0].Annotations["error"])

		w.end()
		w.start()
		l = contact.New("a/b", "http://m1:8080", nil)
		w.n.Clusters([]contact.Status{l.Status()})
		w.look(30*minute, l, errSilent)
		for _, p := range w.ams["a"].take() {
			require.False(t, p.resolved(), "a restart, of which nobody knows how long it was")
			require.Equal(t, sent[0].StartsAt, p.StartsAt)
		}
		w.look(1, l, nil)
		p := one(t, w.ams["a"].take())
		require.True(t, p.resolved())
		require.Contains(t, p.Annotations["description"], "http://m1:8080 answers again since ")
		w.look(20*minute, l, nil)
		w.ams["a"].take()
		w.look(6*minute, l, errSilent)
		require.NotEqual(t, sent[0].StartsAt, w.ams["a"].take()[0].StartsAt, "another time is another alert")
		w.n.Clusters(nil)
		synctest.Wait()
		require.True(t, one(t, w.ams["a"].take()).resolved(), "nobody watches it any more")
		w.end()
	})
}

// What was short when a cluster fell silent may still be: nobody can say that it
// is over, nor that it is less urgent.
func TestNothingEndsWhileTheWorkersAreUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		atMax := invalid(true)
		atMax.Recommendation.BlockingConditions = []scaling.Condition{{Name: scaling.BlockerMaxWorkers}}
		w.ticks(12, atMax)
		fired := map[string]bool{}
		for _, p := range w.ams["a"].take() {
			fired[p.name()+"/"+p.Labels["severity"]] = true
		}
		require.Equal(t, map[string]bool{"ZetaAtMaxWorkers/warning": true, "ZetaMetricsInvalid/page": true}, fired)
		silent := invalid(false)
		silent.Recommendation.Row, silent.Recommendation.CurrentWorkers = scaling.RowWorkersUnknown, nil
		w.ticks(240, silent)
		for _, p := range w.ams["a"].take() {
			require.False(t, p.resolved(), "%s", p.Labels)
			require.True(t, fired[p.name()+"/"+p.Labels["severity"]], "%s", p.Labels)
		}
		w.tick(steady())
		ended := map[string]bool{}
		for _, p := range w.ams["a"].take() {
			require.True(t, p.resolved())
			ended[p.name()+"/"+p.Labels["severity"]] = true
		}
		require.Equal(t, fired, ended)
		w.end()
	})
}

// A resolved alert says what has ended, and what holds now.
func TestResolvedAlertsSayWhatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		w.tick(scaleOut(2))
		fired := one(t, w.ams["a"].take()).Annotations["summary"]
		ev := steady()
		ev.Recommendation.Reason = "nothing to do"
		for range 3 {
			w.tick(ev)
			p := one(t, w.ams["a"].take())
			require.True(t, p.resolved())
			require.Equal(t, "over: "+fired, p.Annotations["summary"])
			require.Equal(t, "Now: nothing to do", p.Annotations["description"])
			time.Sleep(2 * time.Minute)
		}
		w.end()
	})
}

func TestClustersWithoutAlertmanagers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, nil, nil)
		l := contact.New("a", "", nil)
		w.look(10*minute, l, errSilent)
		require.Empty(t, w.n.Contacts())
		w.end()
	})
}

var errSilent = errors.New("connection refused")
