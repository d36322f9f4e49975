#!/bin/sh
# Runs govulncheck (first argument) over the module. Its database lives on the network: where that cannot be had, this says
# so and succeeds, since the code is not at fault. A finding fails.
set -u
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
timeout 300 "$1" ./... >"$out" 2>&1
code=$?
cat "$out"
case $code in
0 | 3) exit $code ;; # 3: a vulnerability that our code reaches
124) echo "govulncheck: skipped (no answer within 5 minutes)" ;;
*)
	if grep -qE 'fetching vulnerabilities|dial tcp|no such host|connection refused|HTTP GET' "$out"; then
		echo "govulncheck: skipped (the vulnerability database cannot be reached)"
	else
		exit $code
	fi
	;;
esac
