package main

import (
	"context"
	"log/slog"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// listen opens the listener that the configuration names.
func listen(ctx context.Context, c config.Web, logger *slog.Logger) (*web.Server, error) {
	return web.Listen(ctx, web.Options{
		ListenAddress: c.ListenAddress, ConfigFile: c.ConfigFile, BearerTokensFile: c.BearerTokensFile,
		OpenReads: c.OpenReads, EnableLifecycle: c.EnableLifecycle, Logger: logger,
	})
}
