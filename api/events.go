package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	// eventsPath is where the stream is.
	eventsPath = "/autoscaler/events"
	// maxStreams is how many streams may be open at once, maxKeys how many scopes
	// one event lists.
	maxStreams = 64
	maxKeys    = 500
	// heartbeat keeps proxies from closing a stream that has nothing to say.
	heartbeat = 15 * time.Second
	// eventGap is the least time between two events: a tick of many scopes is
	// published in pieces.
	eventGap = 250 * time.Millisecond
	// streamWrite is how long a client may take to read one event.
	streamWrite = 30 * time.Second
)

// TickEvent is the data of an event "tick".
type TickEvent struct {
	// Scopes are the keys of the scopes that are new or gone, sorted.
	Scopes []string `json:"scopes"`
	// All is true when they are too many to list, or there is a new leader.
	All bool `json:"all"`
}

// GetEvents serves a stream that says when there is something new.
func (s *server) GetEvents(c echo.Context, params GetEventsParams) error {
	if params.Scope != "" {
		if _, err := s.selected(params.Scope); err != nil {
			return err
		}
	}
	leave, err := s.enterStream()
	if err != nil {
		return err
	}
	defer leave()
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w := stream{out: c.Response(), control: http.NewResponseController(c.Response())}
	if err := w.open(); err != nil {
		return err
	}
	if c.Request().Method == http.MethodHead {
		return nil
	}
	w.forwarded = forwarded(c)
	// What ends a stream is the client or the stop of the service: no error.
	if err := s.follow(c.Request().Context(), &w, params.Scope); err != nil {
		s.Logger.Debug("a stream of events ends", "err", err)
	}
	return nil
}

// enterStream counts a stream until leave is called, if there may be one more.
func (s *server) enterStream() (leave func(), err error) {
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		return nil, &failure{Problem: problem(http.StatusServiceUnavailable, fmt.Sprintf("%d streams are open already", maxStreams)), quiet: true}
	}
	return func() { s.streams.Add(-1) }, nil
}

// follow writes events until somebody ends the stream.
func (s *server) follow(ctx context.Context, w *stream, scope string) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	keys, mark, more := s.Board.Changes(0)
	if err := w.tick(keys, scope, true); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.Stopping:
			return nil
		case <-beat.C:
			if err := w.write(": still here\n\n"); err != nil {
				return err
			}
		case <-more:
			if !s.pause(ctx, eventGap) {
				continue
			}
			keys, mark, more = s.Board.Changes(mark)
			if w.forwarded && !s.Board.Leader() {
				return nil // whoever passes it on asks the next leader
			}
			if err := w.tick(keys, scope, false); err != nil {
				return err
			}
		}
	}
}

// pause waits, and is false if the stream is to end.
func (s *server) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.Stopping:
	}
	return false
}

// stream writes server-sent events. Every write has a deadline of its own, as
// that of the server is for whole replies.
type stream struct {
	out     http.ResponseWriter
	control *http.ResponseController
	// forwarded says that another replica passes the stream on.
	forwarded bool
}

func (w *stream) open() error {
	// The server stops reading after a while, which would end the request.
	if err := w.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("opening a stream: %w", err)
	}
	return w.write("retry: 3000\n\n")
}

// tick says which scopes have changed; of one scope alone, if it is among them.
func (w *stream) tick(keys []string, scope string, first bool) error {
	event := TickEvent{Scopes: keys}
	switch {
	case len(keys) > maxKeys && scope == "", len(keys) == 0 && !first:
		// A board that has changed and has no keys has a new leader, or none.
		event.Scopes, event.All = nil, true
	case scope != "" && (first || slices.Contains(keys, scope)):
		event.Scopes = []string{scope}
	case scope != "":
		return nil
	}
	event.Scopes = listed(event.Scopes)
	data, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	return w.write("event: tick\ndata: " + string(data) + "\n\n")
}

func (w *stream) write(text string) error {
	if err := w.control.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("renewing a stream: %w", err)
	}
	if _, err := w.out.Write([]byte(text)); err != nil {
		return fmt.Errorf("writing to a stream: %w", err)
	}
	if err := w.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("writing to a stream: %w", err)
	}
	return nil
}
