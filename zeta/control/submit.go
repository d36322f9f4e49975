package control

import (
	"context"
	"fmt"
	"net/url"
)

// Submit starts a new job under an id that no other job has; Zeta refuses one
// that it has seen. After ErrUnknownOutcome Job tells, by the id.
func (e *Engine) Submit(ctx context.Context, id, name string, c Config) error {
	if err := e.submit(ctx, id, url.Values{"jobId": {id}, "jobName": {name}}, c); err != nil {
		return fmt.Errorf("submitting job %s: %w", id, err)
	}
	return nil
}
