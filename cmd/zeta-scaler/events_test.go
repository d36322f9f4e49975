package main

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/config"
)

func TestOnlyConfiguredEventHandlersAreTold(t *testing.T) {
	for _, names := range [][]string{{}, {"log"}, {"log", "webhook"}} {
		s := &service{logger: slog.New(slog.DiscardHandler), cfg: &config.Config{
			Events: names, EventWebhook: &config.EventWebhook{URL: "http://127.0.0.1:1"},
		}}
		handlers, err := s.eventHandlers()
		require.NoError(t, err)
		require.Len(t, handlers, len(names))
		for _, name := range names {
			require.Contains(t, handlers, name)
		}
	}
}
