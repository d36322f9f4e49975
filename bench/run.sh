#!/bin/sh
# Every figure of docs/performance.md, in five to six minutes. Rounds go over all benchmarks in turn, so that a load that
# comes and goes does not fall on one side of a comparison. What was measured lies in bin/bench/ afterwards.
#
#   GO, BENCHSTAT   the programs to use (make bench sets both)
#   ROUNDS          how often everything is measured, default 6 (benchstat wants as many)
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
benchstat=${BENCHSTAT:-$PWD/bin/tools/benchstat}
rounds=${ROUNDS:-6}
out=$PWD/bin/bench
rm -rf "$out"
mkdir -p "$out"

# The packages are compiled once; each round runs the programs.
for package in evaluator zeta alerts api actuators webhook; do
	$go test -c -o "$out/$package.test" "./$package"
done
$go build -o "$out/footprint" ./bench/footprint
$go build -o "$out/actuation" ./bench/actuation
$go build -o "$out/backtest" ./bench/backtest
$go build -o "$out/report" ./bench/report
$go build -ldflags "-s -w" -o "$out/zeta-scaler" ./cmd/zeta-scaler

bench() { # PACKAGE FILE PATTERN FLAGS...: appends to a file of results
	package=$1 file=$2 pattern=$3
	shift 3
	(cd "$package" && "$out/$package.test" -test.run '^$' -test.bench "$pattern" -test.benchmem "$@") >>"$out/$file.txt"
}

round=1
while [ "$round" -le "$rounds" ]; do
	echo "round $round of $rounds"
	bench evaluator small '^BenchmarkStep$' -test.benchtime 0.3s
	# On one processor: the rule manager evaluates a group in one thread, so this compares work with work.
	bench evaluator cycle '^BenchmarkCycle$/^scopes=(100|1000)$' -test.benchtime 0.5s -test.cpu 1
	bench evaluator small '^BenchmarkRestore$/^scopes=1000$' -test.benchtime 1x
	bench zeta small '^BenchmarkScrape$' -test.benchtime 0.3s
	bench alerts small '^BenchmarkActiveAlerts$' -test.benchtime 2x
	bench api small '^BenchmarkThousandScopes$/^(status|list|explain|actions)$/^identity$' -test.benchtime 0.2s
	bench actuators small '^BenchmarkAnswer$' -test.benchtime 0.1s
	bench webhook small '^BenchmarkGroups$' -test.benchtime 0.1s
	"$out/actuation" accept -time 2s >>"$out/actuation.txt"
	round=$((round + 1))
done
echo "10000 scopes"
bench evaluator large '^BenchmarkCycle$/^scopes=10000$/^by=zeta-scaler$' -test.benchtime 3x -test.cpu 1

echo "duplicates"
"$out/actuation" duplicates -time 10s >>"$out/actuation.txt"
"$out/actuation" duplicates -time 5s -alerts 1 >>"$out/actuation.txt"
"$out/actuation" duplicates -time 5s -rate 2000 -refused >>"$out/actuation.txt"

if [ -r /proc/self/status ]; then
	echo "memory"
	for store in memory file; do
		for scopes in 100 1000 10000; do
			"$out/footprint" loop -scopes $scopes -store $store >>"$out/memory.txt"
		done
	done
	"$out/footprint" serve -binary "$out/zeta-scaler" -store file -scopes 1 >>"$out/memory.txt"
	"$out/footprint" serve -binary "$out/zeta-scaler" -store file -scopes 10000 -interval 5s >>"$out/memory.txt"
fi

echo
if [ -x "$benchstat" ]; then
	cat "$out/cycle.txt" "$out/large.txt" | "$benchstat" -col /by -
	"$benchstat" - <"$out/small.txt"
	echo
fi
"$out/report" "$out"/*.txt
