#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME, one after another: `go test -fuzz` takes one target of one package.
set -eu
: "${GO:=go}" "${FUZZTIME:=20s}"
found=0
for package in $($GO list ./...); do
	for target in $($GO test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		found=$((found + 1))
		echo "== $package $target"
		$GO test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" "$package"
	done
done
echo "$found fuzz targets ran for $FUZZTIME each"
