package zeta

import (
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// exported is what users' rules and dashboards may rely on: a name that goes,
// or a label that comes, breaks them.
var exported = map[string]string{
	"seatunnel_zeta_up":                          "",
	"seatunnel_zeta_info":                        "version,schedule_strategy,slot_mode",
	"seatunnel_zeta_workers":                     "",
	"seatunnel_zeta_slots":                       "state",
	"seatunnel_zeta_worker_slots":                "worker,state",
	"seatunnel_zeta_worker_assigned_slots":       "worker",
	"seatunnel_zeta_worker_dynamic_slot":         "worker",
	"seatunnel_zeta_worker_cpu_ratio":            "worker",
	"seatunnel_zeta_worker_memory_ratio":         "worker",
	"seatunnel_zeta_worker_processors":           "worker",
	"seatunnel_zeta_worker_cpu_cores":            "worker,state",
	"seatunnel_zeta_worker_heap_bytes":           "worker,state",
	"seatunnel_zeta_worker_running_jobs":         "worker",
	"seatunnel_zeta_worker_sample_age_seconds":   "worker",
	"seatunnel_zeta_jobs":                        "status",
	"seatunnel_zeta_pending_jobs":                "",
	"seatunnel_zeta_pending_job_oldest_seconds":  "",
	"seatunnel_zeta_pending_slots":               "",
	"seatunnel_zeta_pending_head_lacking_slots":  "",
	"seatunnel_zeta_pending_head_required_slots": "",
	"seatunnel_zeta_pending_head_info":           "job_id,reason",
	"seatunnel_zeta_resource_rejections_total":   "",
	"seatunnel_zeta_scrape_duration_seconds":     "",
	"seatunnel_zeta_scrape_errors_total":         "endpoint",
}

func TestEveryExporterMetricOfTheSpec(t *testing.T) {
	ch := make(chan *prometheus.Desc, 100)
	newTestCollector(t, &replay{}).Describe(ch)
	close(ch)
	described := map[string]string{}
	parts := regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z_,]*)\}`)
	for desc := range ch {
		m := parts.FindStringSubmatch(desc.String())
		require.NotNil(t, m, desc.String())
		require.Contains(t, desc.String(), `constLabels: {cluster=`)
		described[m[1]] = m[2]
	}
	require.Equal(t, exported, described)
}
