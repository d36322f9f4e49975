package app

import (
	"context"
	"log/slog"
	"net/url"
	"slices"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// listen opens the listener that the configuration names; ownBounds is that of
// web.Options.
func listen(ctx context.Context, c config.Web, ownBounds bool, logger *slog.Logger) (*web.Server, error) {
	hosts := slices.Clone(c.AllowedHosts)
	for _, address := range []string{c.ExternalURL, c.AdvertiseURL} {
		if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
			hosts = append(hosts, u.Hostname())
		}
	}
	return web.Listen(ctx, web.Options{
		ListenAddress: c.ListenAddress, ConfigFile: c.ConfigFile, BearerTokensFile: c.BearerTokensFile,
		OpenReads: c.OpenReads, Hosts: hosts, EnableLifecycle: c.EnableLifecycle, OwnBounds: ownBounds, Logger: logger,
	})
}
