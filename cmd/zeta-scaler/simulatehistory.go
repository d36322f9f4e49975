package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/pflag"

	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// historyTimeout bounds one request for Zeta's history, which can be long.
const historyTimeout = time.Minute

// historyFlags say whose own past is played: what Zeta remembers of its jobs, or
// what Prometheus does of their numbers.
type historyFlags struct {
	zeta, prometheus, config, cluster string
	start, end, step                  string
	slots                             int
}

func addHistoryFlags(flags *pflag.FlagSet) *historyFlags {
	h := &historyFlags{}
	flags.StringVar(&h.zeta, "zeta.url", "", "play the jobs that a Zeta cluster remembers (/finished-jobs), such as http://master:8080")
	flags.StringVar(&h.config, "config.file", "", "play the jobs that a cluster of this configuration remembers, with its credentials; needs --cluster")
	flags.StringVar(&h.prometheus, "prometheus.url", "", "play jobs estimated from the exporter's metrics in a Prometheus-compatible API; needs --cluster")
	flags.StringVar(&h.cluster, "cluster", "", "name of the cluster: in the configuration, or the value of its label")
	flags.StringVar(&h.start, "start", "1d", "where the estimated past begins: a time, or how long ago")
	flags.StringVar(&h.end, "end", "now", "where it ends")
	flags.StringVar(&h.step, "step", "15s", "how fine it is: the interval at which the exporter is scraped")
	flags.IntVar(&h.slots, "slots-per-pipeline", workload.DefaultSlotsPerPipeline, "slots of a pipeline of a job that Zeta remembers: it does not remember these")
	return h
}

// load reads the past that was asked for, with what has to be known of it; nil if
// none was.
func (h *historyFlags) load(ctx context.Context) (*workload.Workload, []string, error) {
	n := given(h.zeta, h.config, h.prometheus)
	switch {
	case n == 0 && h.cluster != "":
		return nil, nil, usagef("--cluster says whose past is played: give --zeta.url, --config.file or --prometheus.url, too")
	case n == 0:
		return nil, nil, nil
	case n > 1:
		return nil, nil, usagef("give one of --zeta.url, --config.file and --prometheus.url")
	case h.zeta == "" && h.cluster == "":
		return nil, nil, usagef("--cluster is missing: whose past it is")
	case h.prometheus != "":
		return h.estimate(ctx)
	}
	cluster, err := h.remembered()
	if err != nil {
		return nil, nil, err
	}
	cluster.EndpointTimeout = historyTimeout
	client, err := zeta.NewClient(zeta.ClientOptions{Cluster: cluster})
	if err != nil {
		return nil, nil, err
	}
	defer client.Close()
	past, notes, err := workload.FromZeta(ctx, client, cluster.Name, h.slots)
	if e, ok := errors.AsType[*zeta.StatusError](err); ok && h.zeta != "" && (e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden) {
		err = fmt.Errorf("%w: give a cluster that wants credentials by --config.file and --cluster", err)
	}
	return past, notes, err
}

// remembered is the cluster whose jobs are asked for.
func (h *historyFlags) remembered() (zeta.ClusterConfig, error) {
	if h.zeta != "" {
		name := h.cluster
		if u, err := url.Parse(h.zeta); name == "" && err == nil {
			name = u.Host
		}
		return zeta.ClusterConfig{Name: cmp.Or(name, "the cluster"), URLs: []string{h.zeta}}, nil
	}
	cfg, err := readConfiguration(h.config)
	if err != nil {
		return zeta.ClusterConfig{}, err
	}
	var names []string
	for _, c := range cfg.ClusterConfigs() {
		if c.Name == h.cluster {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return zeta.ClusterConfig{}, usagef("--cluster: the configuration has no cluster %q, its clusters are %q", h.cluster, names)
}

// estimate reads what Prometheus knows of the number of jobs.
func (h *historyFlags) estimate(ctx context.Context) (*workload.Workload, []string, error) {
	step, err := lengthOf("step", h.step)
	if err != nil {
		return nil, nil, err
	}
	w := source.Window{Step: step}
	if w.Start, w.End, err = periodOf(h.start, h.end, time.Now()); err != nil {
		return nil, nil, err
	}
	// Steps at round instants, where backtests have them, too.
	w.Start, w.End = w.Start.Truncate(step), w.End.Truncate(step)
	opened, err := placeAt(h.prometheus).Open(ctx, w.End, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, fmt.Errorf("--prometheus.url: %w", err)
	}
	defer opened.Close()
	built, notes, err := workload.FromPrometheus(ctx, opened, h.cluster, w)
	return built, append(notes, fmt.Sprintf("from %s to %s, every %s", w.Start.UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339), model.Duration(step))), err
}
