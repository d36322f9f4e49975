#!/bin/sh
# zeta-scaler beside vmalert, Prometheus' own rules, and KEDA's and HPA's way of asking, over one Prometheus with one set of
# samples: the second table of docs/performance.md. Takes half an hour. What was measured lies in bin/bench-peers/ afterwards.
#
#   GO                             the Go to use
#   ROUNDS                         how often everything is measured, default 3
#   VMALERT_BIN, PROMETHEUS_BIN    programs to use; by default those of e2e/victoriametrics and e2e/prom are built
set -eu
cd "$(dirname "$0")/.."
root=$PWD
go=${GO:-go}
rounds=${ROUNDS:-3}
out=$root/bin/bench-peers
mkdir -p "$out"
rm -f "$out"/*.txt

build() { # NAME MODULE PACKAGE FLAGS...: the program, as the end-to-end tests build it
	name=$1 module=$2 package=$3
	shift 3
	$go -C "$module" build -o "$root/bin/e2e/$name" "$@" "$package"
}
prometheus=${PROMETHEUS_BIN:-}
if [ -z "$prometheus" ]; then
	build prometheus e2e/prom github.com/prometheus/prometheus/cmd/prometheus -tags remove_all_sd,enable_dns_sd -ldflags "-s -w"
	prometheus=$root/bin/e2e/prometheus
fi
vmalert=${VMALERT_BIN:-}
if [ -z "$vmalert" ]; then
	build vmalert e2e/victoriametrics github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert -ldflags "-s -w"
	vmalert=$root/bin/e2e/vmalert
fi
$go build -ldflags "-s -w" -o "$out/zeta-scaler" ./cmd/zeta-scaler
$go build -o "$out/peers" ./bench/peers
$go build -o "$out/report" ./bench/report

peers() { # MEASUREMENT FLAGS...
	measurement=$1
	shift
	"$out/peers" "$measurement" -prometheus "$prometheus" -vmalert "$vmalert" -zeta-scaler "$out/zeta-scaler" "$@"
}
round=1
while [ "$round" -le "$rounds" ]; do
	echo "round $round of $rounds"
	peers replay -folder "$out/past" >>"$out/replay.txt"
	peers cycle -scopes 100 >>"$out/cycle.txt"
	peers cycle -scopes 1000 >>"$out/cycle.txt"
	round=$((round + 1))
done
echo
"$out/report" -peers "$out"/*.txt
