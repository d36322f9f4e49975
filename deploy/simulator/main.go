// Command simulator is what the compose stack watches when it has no real Zeta: `simulator cluster` answers the REST API of
// a simulated Zeta cluster to whom the jobs of a demo scenario happen in real time, again and again, and `simulator sink`
// stands for a scaling system that exists already: it takes Alertmanager's webhook, says what it was asked for, and with
// --zeta starts and stops simulated workers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zeta-scaler/zeta-scaler/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(ctx, os.Args[1:], logger); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "simulator:", err)
		os.Exit(1)
	}
}

// run does what the first argument names.
func run(ctx context.Context, args []string, logger *slog.Logger) error {
	commands := map[string]func(context.Context, []string, *slog.Logger) error{
		"cluster": runCluster, "sink": runSink, "health": checkHealth,
	}
	if len(args) > 0 {
		if command, ok := commands[args[0]]; ok {
			return command(ctx, args[1:], logger)
		}
	}
	return errors.New("usage: simulator cluster|sink [flags], or simulator health URL")
}

func runCluster(ctx context.Context, args []string, logger *slog.Logger) error {
	flags := flag.NewFlagSet("simulator cluster", flag.ContinueOnError)
	address := flags.String("web.listen-address", ":8080", "address to listen on")
	scenario := flags.String("scenario", demo.DefaultScenario, "what happens to it, as in zeta-scaler demo")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := newStory(*scenario, time.Now(), logger)
	if err != nil {
		return err
	}
	return serve(ctx, *address, s.handler(time.Now), logger)
}

func runSink(ctx context.Context, args []string, logger *slog.Logger) error {
	flags := flag.NewFlagSet("simulator sink", flag.ContinueOnError)
	address := flags.String("web.listen-address", ":8081", "address to listen on")
	zeta := flags.String("zeta", "", "the simulated cluster that it scales, such as http://simulator:8080; empty: it only says what it was asked for")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return serve(ctx, *address, newReceiver(*zeta, logger), logger)
}

// checkHealth lets an image without a shell have a health check.
func checkHealth(ctx context.Context, args []string, _ *slog.Logger) error {
	if len(args) != 1 {
		return errors.New("health needs one URL")
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
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
