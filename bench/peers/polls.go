package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
)

// pollers is how many requests are under way at once.
const pollers = 4

// measurePolls asks as KEDA's scaler for Prometheus or an adapter of external
// metrics does: one instant query for each object and metric. All that they do
// beside it, with Kubernetes above all, is spared.
func measurePolls(ctx context.Context, s *stage, part part) error {
	var queries []string
	for _, cluster := range s.clusters {
		for i := range s.rs.Signals {
			expr, err := fleet.Only(s.rs.Signals[i].Expr.Text, cluster)
			if err != nil {
				return err
			}
			queries = append(queries, expr.String())
		}
	}
	ask := askAsKEDA
	if part.name == "hpa" {
		ask = askAsAdapter
	}
	before, err := s.server.used()
	if err != nil {
		return err
	}
	from := mark{client: own(), server: before}
	for range part.cycles {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(pollers)
		for _, q := range queries {
			g.Go(func() error { return ask(ctx, s.server.url, q) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	after, err := s.server.used()
	if err != nil {
		return err
	}
	to := mark{client: own(), server: after, done: float64(part.cycles * len(queries))}
	return s.write(part.name, from, to, float64(len(queries)), 0)
}

// promReply is what both decode.
type promReply struct {
	Status string `json:"status"`
	Data   struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Metric map[string]string `json:"metric"`
			Value  []any             `json:"value"`
		} `json:"result"`
	} `json:"data"`
}

// askAsKEDA does as pkg/scalers/prometheus_scaler.go: GET, one value.
func askAsKEDA(ctx context.Context, server, query string) error {
	body, err := get(ctx, server+"/api/v1/query?query="+url.QueryEscape(query)+"&time="+time.Now().UTC().Format(time.RFC3339))
	if err != nil {
		return err
	}
	var reply promReply
	if err := json.Unmarshal(body, &reply); err != nil {
		return err
	}
	if n := len(reply.Data.Result); n > 1 {
		return fmt.Errorf("%d results of %s, expected one", n, query)
	}
	if len(reply.Data.Result) == 0 {
		return nil // it takes that for 0
	}
	if len(reply.Data.Result[0].Value) != 2 {
		return fmt.Errorf("%s has no value", query)
	}
	text, _ := reply.Data.Result[0].Value[1].(string)
	_, err = strconv.ParseFloat(text, 64)
	return err
}

// askAsAdapter does as the Prometheus adapter for external metrics: GET, the
// data decoded apart from the reply.
func askAsAdapter(ctx context.Context, server, query string) error {
	form := url.Values{"query": {query}, "time": {strconv.FormatInt(time.Now().Unix(), 10)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/api/v1/query?"+form.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	body, err := do(req)
	if err != nil {
		return err
	}
	var reply struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return err
	}
	var data struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(reply.Data, &data); err != nil {
		return err
	}
	var vector []struct {
		Metric map[string]string `json:"metric"`
		Value  [2]any            `json:"value"`
	}
	return json.Unmarshal(data.Result, &vector)
}
