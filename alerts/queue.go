package alerts

import "github.com/zeta-scaler/zeta-scaler/queue"

// message is one alert as it goes over the wire.
type message struct {
	identity string
	body     []byte
}

// newQueue holds only the newest message of an alert: while an Alertmanager is
// away, an alert takes one place however often it is sent again.
func newQueue(limit int) *queue.Queue[message] {
	return queue.New(limit, func(m message) string { return m.identity })
}
