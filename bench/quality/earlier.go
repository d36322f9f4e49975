package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// load reads a report that was saved.
func load(name string) (*simulate.Report, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the user's own file
	if err != nil {
		return nil, err
	}
	var r simulate.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return &r, nil
}

// join adds the controllers of a later report of the same workloads to an earlier
// one; one of the same name takes the other's place.
func join(earlier, later *simulate.Report) error {
	if earlier.Seed != later.Seed || earlier.ScrapeIntervalSeconds != later.ScrapeIntervalSeconds || len(earlier.Workloads) != len(later.Workloads) {
		return fmt.Errorf("the earlier report has seed %d, scrapes every %gs and %d workloads, this one %d, %gs and %d",
			earlier.Seed, earlier.ScrapeIntervalSeconds, len(earlier.Workloads), later.Seed, later.ScrapeIntervalSeconds, len(later.Workloads))
	}
	for k, c := range later.Controllers {
		at := slices.IndexFunc(earlier.Controllers, func(other simulate.Controller) bool { return other.Name == c.Name })
		if at < 0 {
			earlier.Controllers = append(earlier.Controllers, c)
		}
		for i := range earlier.Workloads {
			before, now := &earlier.Workloads[i], &later.Workloads[i]
			switch {
			case before.Name != now.Name || before.Jobs != now.Jobs:
				return fmt.Errorf("workload %d of the earlier report is %s with %d jobs, this one's is %s with %d", i+1, before.Name, before.Jobs, now.Name, now.Jobs)
			case at < 0:
				before.Outcomes = append(before.Outcomes, now.Outcomes[k])
			default:
				before.Outcomes[at] = now.Outcomes[k]
			}
		}
	}
	earlier.Partial = earlier.Partial || later.Partial
	earlier.Notes = append(earlier.Notes, later.Notes...)
	return nil
}
