package e2e

import (
	"fmt"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// clusterName is the scope of every test.
const clusterName = "real"

// decision is what must be equal wherever the same ticks are judged.
type decision struct {
	Row      scaling.RowID
	Action   scaling.Action
	Current  string
	Target   string
	Triggers string
}

func decisionOf(r scaling.Recommendation) decision {
	return decision{
		Row: r.Row, Action: r.Action, Current: number(r.CurrentWorkers), Target: number(r.RecommendedWorkers),
		Triggers: strings.Join(names(r.TriggerConditions), " "),
	}
}

func number(n *int) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

func names(conditions []scaling.Condition) []string {
	var out []string
	for _, c := range conditions {
		out = append(out, c.Name)
	}
	return out
}
