// Command simulator is what the compose stack watches when it has no real Zeta: `simulator cluster` answers the REST API of
// a simulated Zeta cluster to whom the jobs of a demo scenario happen in real time, again and again, and `simulator sink`
// stands for a scaling system that exists already: it takes Alertmanager's webhook, says what it was asked for, and with
// --zeta starts and stops simulated workers.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{Use: "simulator", Short: "A simulated Zeta cluster, and a scaling system for it", SilenceUsage: true}
	root.AddCommand(newCluster(), newSink(), newHealth())
	return root
}

func newCluster() *cobra.Command {
	cmd := &cobra.Command{Use: "cluster", Short: "Answer the REST API of a simulated Zeta cluster", Args: cobra.NoArgs}
	address := cmd.Flags().String("web.listen-address", ":8080", "address to listen on")
	scenario := cmd.Flags().String("scenario", demo.DefaultScenario, "what happens to it, as in zeta-scaler demo")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		logger := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
		s, err := newStory(*scenario, time.Now(), logger)
		if err != nil {
			return err
		}
		return serve(cmd.Context(), *address, s.handler(time.Now), logger)
	}
	return cmd
}

func newSink() *cobra.Command {
	cmd := &cobra.Command{Use: "sink", Short: "Take Alertmanager's webhook as a scaling system would", Args: cobra.NoArgs}
	address := cmd.Flags().String("web.listen-address", ":8081", "address to listen on")
	zeta := cmd.Flags().String("zeta", "", "the simulated cluster that it scales, such as http://simulator:8080; empty: it only says what it was asked for")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		logger := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
		return serve(cmd.Context(), *address, newReceiver(*zeta, logger), logger)
	}
	return cmd
}

// newHealth lets an image without a shell have a health check.
func newHealth() *cobra.Command {
	return &cobra.Command{
		Use: "health URL", Short: "Exit 0 if a URL answers 200", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTimeout)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], http.NoBody)
			if err != nil {
				return fmt.Errorf("asking for health: %w", err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return fmt.Errorf("asking for health: %w", err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("%s answered %s", args[0], resp.Status)
			}
			return nil
		},
	}
}

const (
	healthTimeout   = 2 * time.Second
	shutdownTimeout = 5 * time.Second
	headerTimeout   = 5 * time.Second
)

// serve answers until ctx ends.
func serve(ctx context.Context, address string, h http.Handler, logger *slog.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	logger.Info("listening", "address", listener.Addr().String())
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout}
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		_ = server.Shutdown(end) // who hangs is cut off by the end of the process
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
