#!/bin/sh
# Builds the tools that tools/go.mod pins into .cache/bin, once per change of
# the pins or of Go.
set -eu
cd "$(dirname "$0")/../.."

bin=.cache/bin
stamp=.cache/tools.stamp
state=$(cat tools/go.mod tools/go.sum | cksum)-$(go env GOVERSION)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$state" ]; then
	exit 0
fi
echo "setup: building gofumpt, gotestsum and golangci-lint (about two minutes, once)"
mkdir -p "$bin"
rm -f "$stamp"
out=$PWD/$bin
(cd tools && go build -trimpath -o "$out/" tool)
echo "$state" >"$stamp"
