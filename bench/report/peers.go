package main

import "fmt"

// peers are the lines of bench/peers: what zeta-scaler takes, and how much of
// what others take that is.
func peers(r results) []string {
	var lines []string
	for _, n := range []string{"100", "1000"} {
		by := func(name string) string { return fmt.Sprintf("Peers/scopes=%s/by=%s", n, name) }
		ours := by("zeta-scaler")
		lines = append(lines,
			r.figure(n+" scopes, one of them and cycle", ours, "µs/scope", 1, "µs"),
			r.figure("  of that, zeta-scaler itself", ours, "µs-own/scope", 1, "µs"),
			r.figure("  most memory of zeta-scaler", ours, "MB-peak", 1, "MB"))
		for _, peer := range []struct {
			name, title string
			target      map[string]float64
		}{
			{"vmalert-scoped", "vmalert, rules for each scope", map[string]float64{"1000": 0.1}},
			{"vmalert-by", "vmalert, rules by (scope)", nil},
			{"rules-scoped", "Prometheus, rules for each scope", nil},
			{"rules-by", "Prometheus, rules by (scope)", nil},
			{"keda", "KEDA's way, one poll", nil},
			{"hpa", "HPA's way, one round", nil},
		} {
			lines = append(lines, r.figure("  "+peer.title, by(peer.name), "µs/scope", 1, "µs"),
				r.ratio("    zeta-scaler to that", ours, by(peer.name), "×", peer.target[n]))
		}
	}
	const replay, ours = "Replay/by=", "Replay/by=zeta-scaler"
	lines = append(lines,
		r.figure("backtest over the API, by the clock", ours, "s", 1, "s"),
		r.figure("  processor time, with the server's", ours, "s-processor", 1, "s"),
		r.atMost("  most memory", ours, "MB-peak", 1, "MB", 150),
		r.figure("backtest from the folder, processor time", ours+"-folder", "s-processor", 1, "s"))
	for _, peer := range []struct {
		name, title string
		target      float64
	}{
		{"bare", "bare range queries", 1.3},
		{"bare-discarded", "bare range queries, not decoded", 0},
		{"vmalert-scoped/points=1000", "vmalert -replay, rules for each scope", 0.2},
		{"vmalert-scoped/points=10000", "  10 000 points at once", 0},
		{"vmalert-scoped-alerts/points=1000", "  alerts only", 0},
		{"vmalert-scoped-alerts/points=10000", "  alerts only, 10 000 points at once", 0},
		{"vmalert-by/points=1000", "vmalert -replay, rules by (scope)", 0.2},
		{"vmalert-by/points=10000", "  10 000 points at once", 0},
		{"vmalert-by-alerts/points=1000", "  alerts only", 0},
		{"vmalert-by-alerts/points=10000", "  alerts only, 10 000 points at once", 0},
	} {
		lines = append(lines, r.figure(peer.title, replay+peer.name, "s-processor", 1, "s"),
			r.ratioOf("    backtest to that, processor time", ours, replay+peer.name, "s-processor", "×", peer.target),
			r.ratioOf("    by the clock", ours, replay+peer.name, "s", "×", 0))
	}
	return lines
}
