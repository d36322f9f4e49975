package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"
	"syscall"

	"github.com/prometheus/common/promslog"

	"github.com/zeta-scaler/zeta-scaler/config"
)

// NewLogger makes the process' logger; its level can be changed later.
func NewLogger(w io.Writer, c config.Log) (*slog.Logger, *promslog.Level, error) {
	level, format := promslog.NewLevel(), promslog.NewFormat()
	if err := level.Set(c.Level); err != nil {
		return nil, nil, fmt.Errorf("log.level: %w", err)
	}
	if err := format.Set(c.Format); err != nil {
		return nil, nil, fmt.Errorf("log.format: %w", err)
	}
	logger := promslog.New(&promslog.Config{Level: level, Format: format, Writer: w})
	// net/http and others write to the standard logger, replies of servers
	// included.
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(logger.Handler(), slog.LevelDebug).Writer())
	return logger, level, nil
}

// scrapeLog gets the errors of a metrics page: a client that went away is none
// of ours.
type scrapeLog struct{ *slog.Logger }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) {
	level := slog.LevelError
	for _, x := range v {
		if err, ok := x.(error); ok && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) {
			level = slog.LevelDebug
		}
	}
	l.Log(context.Background(), level, "metrics page", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}
