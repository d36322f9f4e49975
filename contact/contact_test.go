package contact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/contact"
)

func TestStates(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	began := now
	l := contact.New("prod", "http://m1:8080", func() time.Time { return now })
	require.Equal(t, contact.Status{Name: "prod", URL: "http://m1:8080", State: contact.Unasked}, l.Status())

	l.Note(nil)
	s := l.Status()
	require.Equal(t, contact.Up, s.State)
	require.Equal(t, began, *s.Since)
	require.Equal(t, began, *s.LastAnswer)

	now = now.Add(time.Minute)
	l.Note(nil)
	require.Equal(t, began, *l.Status().Since, "it answered all the time")
	require.Equal(t, now, *l.Status().LastAnswer)

	answered, lost := now, now.Add(time.Minute)
	now = lost
	l.Note(errors.New("connection refused"))
	now = now.Add(time.Hour)
	l.Note(errors.New("no route to host"))
	s = l.Status()
	require.Equal(t, contact.Down, s.State)
	require.Equal(t, lost, *s.Since)
	require.Equal(t, answered, *s.LastAnswer)
	require.Equal(t, "no route to host", s.Error)

	l.Note(fmt.Errorf("asking: %w", context.Canceled))
	require.Equal(t, s, l.Status(), "called off")

	l.Tell("http://m2:8080", "2.3.13")
	l.Tell("", "")
	l.Note(nil)
	s = l.Status()
	require.Equal(t, contact.Up, s.State)
	require.Equal(t, now, *s.Since)
	require.Empty(t, s.Error)
	require.Equal(t, "http://m2:8080", s.URL)
	require.Equal(t, "2.3.13", s.Version)
}

func TestOneOfManyThatFailsSaysNothing(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	l := contact.New("prometheus", "", func() time.Time { return now })
	slow, quick := l.Begin(), l.Begin()
	now = now.Add(time.Second)
	quick(nil)
	now = now.Add(10 * time.Second)
	slow(errors.New("timeout"))
	require.Equal(t, contact.Up, l.Status().State)
	alone := l.Begin()
	now = now.Add(time.Second)
	alone(errors.New("timeout"))
	require.Equal(t, contact.Down, l.Status().State)
}

func TestLongErrorsAreCut(t *testing.T) {
	l := contact.New("a", "", nil)
	l.Note(errors.New(strings.Repeat("ü", 10_000)))
	require.LessOrEqual(t, len(l.Status().Error), 510)
	require.True(t, utf8.ValidString(l.Status().Error))
}
