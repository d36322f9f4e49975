package main

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/config"
)

func TestOnlyConfiguredEventHandlersAreTold(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	require.Empty(t, eventHandlers(&config.Config{Events: []string{}}, logger))
	require.Contains(t, eventHandlers(&config.Config{Events: []string{"log"}}, logger), "log")
}
