#!/bin/sh
# Makes sure of the programs that the check needs. On Debian and its like a
# missing one is installed if that is allowed; elsewhere the script says what
# to install. It changes nothing where nothing is missing.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }

fail() {
	echo "setup: $*" >&2
	exit 1
}

packages=
want() { # COMMAND PACKAGE
	have "$1" || packages="$packages $2"
}
want gcc gcc # for the race detector
[ -e /usr/include/stdlib.h ] || [ "$(uname)" != Linux ] || packages="$packages libc6-dev"
# for the tests of the status page, any of these
have chromium || have chromium-browser || have google-chrome || have google-chrome-stable || packages="$packages chromium"
# for the tests of the database: its server programs, on the PATH or where Debian has them
server() {
	have postgres && have initdb && return
	for bin in /usr/lib/postgresql/*/bin; do
		[ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && return
	done
	return 1
}
server || packages="$packages postgresql"

if [ -n "$packages" ]; then
	if ! have apt-get || [ "$(id -u)" != 0 ]; then
		fail "please install:$packages"
	fi
	echo "setup: installing$packages"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq </dev/null
	case $packages in *postgresql*)
		# The tests make servers of their own: none is to be made and started now.
		export UCF_FORCE_CONFFOLD=1
		if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
			mkdir -p /etc/postgresql-common
			echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
		fi
		;;
	esac
	# shellcheck disable=SC2086 # a list of names
	apt-get install -y -qq --no-install-recommends $packages </dev/null >/dev/null
fi

have go || fail "Go 1.26 or newer is needed"
have node && have npm || fail "Node.js 20 or newer with npm is needed"
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || fail "Node.js 20 or newer is needed; this is $(node --version)"
