package api

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed openapi.yaml
var openAPI []byte

// GetOpenapi serves the document.
func (s *server) GetOpenapi(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", openAPI)
}

// GetPrometheusMetrics serves the service's own metrics.
func (s *server) GetPrometheusMetrics(c echo.Context) error {
	s.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}

// GetHealthy answers as long as the process does.
func (s *server) GetHealthy(c echo.Context) error {
	return c.String(http.StatusOK, "zeta-scaler is healthy.\n")
}

// GetReady says whether configuration and store are open.
func (s *server) GetReady(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), storeTimeout)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		// Probes ask every few seconds: the reply is enough.
		return &failure{Problem: problem(http.StatusServiceUnavailable, fmt.Sprintf("not ready: %s", err)), quiet: true}
	}
	return c.String(http.StatusOK, "zeta-scaler is ready.\n")
}

// PostReload reads the configuration again. Whoever may reload may also read
// what is wrong with the files, so the error is told as it is.
func (s *server) PostReload(c echo.Context) error {
	if s.Reload == nil {
		return refuse(http.StatusNotImplemented, "this process has no configuration to read again")
	}
	if _, err := readBody(c); err != nil {
		return err
	}
	if err := s.Reload(c.Request().Context()); err != nil {
		// Whoever reloads logs what went wrong, asked for by whatever means.
		return &failure{Problem: problem(http.StatusInternalServerError, fmt.Sprintf("nothing was changed: %s", err)), quiet: true}
	}
	return c.String(http.StatusOK, "The configuration was read again.\n")
}

// PostAlertmanager hands a notification to the receiver.
func (s *server) PostAlertmanager(c echo.Context) error {
	if s.Webhook == nil {
		return refuse(http.StatusNotImplemented, "this process takes no notifications: no receiver is running")
	}
	s.Webhook.ServeHTTP(c.Response(), c.Request())
	return nil
}
