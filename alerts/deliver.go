package alerts

import "context"

// Deliver stores and sends everything that is due, and returns when it was
// sent: for a notifier that nobody runs, whose caller has time in its hand. It
// fails with the first Alertmanager that does not take what is queued for it;
// that is sent again with the next call.
func (n *Notifier) Deliver(ctx context.Context) error {
	n.flush(ctx)
	n.mu.Lock()
	senders := append([]*sender(nil), n.senders...)
	n.mu.Unlock()
	for _, s := range senders {
		for batch := s.queue.Take(maxBatch); len(batch) > 0; batch = s.queue.Take(maxBatch) {
			if err := s.send(batch); err != nil {
				s.drop(s.queue.PutBack(batch))
				return err
			}
		}
		s.counts.length.Set(float64(s.queue.Len()))
	}
	return ctx.Err()
}
