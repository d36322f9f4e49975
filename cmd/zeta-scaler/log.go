package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/prometheus/common/promslog"

	"github.com/zeta-scaler/zeta-scaler/config"
)

// newLogger makes the process' logger; its level can be changed later.
func newLogger(w io.Writer, c config.Log) (*slog.Logger, *promslog.Level, error) {
	level, format := promslog.NewLevel(), promslog.NewFormat()
	if err := level.Set(c.Level); err != nil {
		return nil, nil, fmt.Errorf("log.level: %w", err)
	}
	if err := format.Set(c.Format); err != nil {
		return nil, nil, fmt.Errorf("log.format: %w", err)
	}
	return promslog.New(&promslog.Config{Level: level, Format: format, Writer: w}), level, nil
}
