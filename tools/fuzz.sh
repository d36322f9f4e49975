#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME, one after another: `go test -fuzz` takes one target of one package.
# Each begins with the inputs in testdata/fuzz. An input that fails is written there by Go. With KEEP=32 there are then up to
# 32 inputs of each target, short ones that reached new code, so that the next run, on any machine, goes on from there.
set -eu
: "${GO:=go}" "${FUZZTIME:=20s}" "${KEEP:=0}"
module=$($GO list -m)
cache=$($GO env GOCACHE)/fuzz
found=0
failed=""

keep() { # FROM TO: names are hashes, so the first ones are a sample
	[ -d "$1" ] || return 0
	mkdir -p "$2"
	for input in $(find "$1" -type f -size -2048c | sort); do
		[ "$(ls "$2" | wc -l)" -lt "$KEEP" ] || break
		cp "$input" "$2/"
	done
}

for file in $(grep -rl --include='*_test.go' '^func Fuzz' . | sed 's,^./,,' | sort); do
	folder=$(dirname "$file")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		found=$((found + 1))
		echo "== $folder $target"
		$GO test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 1s "./$folder" || failed="$failed $folder:$target"
		[ "$KEEP" = 0 ] || keep "$cache/$module/$folder/$target" "$folder/testdata/fuzz/$target"
	done
done
echo "$found fuzz targets ran for $FUZZTIME each"
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
