#!/bin/sh
# Runs every fuzz target of the module for the given time, one after another,
# and fails if one of them does.
set -eu
cd "$(dirname "$0")/../.."

time=${1:-30s}
failed=
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' cmd internal | xargs -n1 dirname | sort -u); do
	for target in $(go test -list '^Fuzz' "./$dir" | grep '^Fuzz'); do
		echo "--- $dir $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$dir" || failed="$failed $dir:$target"
	done
done
if [ -n "$failed" ]; then
	echo "fuzz: failed:$failed" >&2
	exit 1
fi
