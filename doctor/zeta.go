package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

const linkZeta = "zeta"

// zeta asks every cluster that the configuration names.
func (c *chain) zeta(ctx context.Context) {
	if len(c.cfg.Clusters) == 0 {
		c.skip(linkZeta, "", "no clusters in this configuration: the exporter that runs elsewhere has its own; run doctor with its file, too")
		return
	}
	for _, cluster := range c.cfg.ClusterConfigs() {
		c.cluster(ctx, cluster)
	}
}

func (c *chain) cluster(ctx context.Context, cluster zeta.ClusterConfig) {
	client, err := zeta.NewClient(zeta.ClientOptions{Cluster: cluster})
	if err != nil {
		c.bad(linkZeta, cluster.Name, "mend the entry of clusters", "%v", err)
		return
	}
	defer client.Close()
	ctx, cancel := c.within(ctx)
	defer cancel()
	overview, err := client.Overview(ctx)
	if err != nil {
		c.bad(linkZeta, cluster.Name, c.zetaHint(err), "%s", oneLine(err))
		return
	}
	version := string(overview.ProjectVersion)
	if version == "" {
		version = "of a version that it does not tell"
	}
	c.ok(linkZeta, cluster.Name, "Zeta %s answers at %s%s", version, strings.Join(cluster.URLs, ", "), c.queue(ctx, client))
}

// queue says whether this version tells what waits.
func (c *chain) queue(ctx context.Context, client *zeta.Client) string {
	switch _, _, err := client.PendingJobs(ctx); {
	case err == nil:
		return "; it tells what waits"
	case errors.Is(err, zeta.ErrUnsupported):
		return "; this version does not tell what waits, so only rejections and use are seen"
	default:
		return "; what waits is not known now: " + oneLine(err)
	}
}

// zetaHint says what to do, with the port where REST may be.
func (c *chain) zetaHint(err error) string {
	if outgoing.CauseOf(err) == outgoing.NobodyListens {
		return "is the master up, and is this its REST port? REST v2 (http://host:8080) has to be enabled with enable-http; REST v1 is Hazelcast's port (http://host:5801)"
	}
	return c.advice(err, "clusters[].urls", "clusters[].http_config", "try curl URL/overview from this machine")
}

// oneLine is an error in one line.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
