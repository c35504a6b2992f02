#!/usr/bin/env bash
# Builds Caddy with the gate to ./caddy, and tries it out. Needs Go and, for
# smoke, curl.
#
#   ./xcaddy.sh [build] build, then check what was built
#   ./xcaddy.sh run     build if needed, then run the gate of examples/demo on
#                       loopback ports until Ctrl-C
#   ./xcaddy.sh smoke   build, check, and send one event twice through a gate
#                       that runs for this alone
#
# run reads:
#   N8N_UPSTREAM  n8n's address; 127.0.0.1:5678. Where nothing answers there, the
#                 demo upstream of examples/demo is started in n8n's place.
#   GATE_ADDR     the gate's address; 127.0.0.1:8080
#   GATE_ADMIN    Caddy's admin address; localhost:2019
#   GATE_DATA     directory of the store and of what else is written; ./data
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=versions.env
. ./versions.env

module=github.com/n8n-gate/n8n-gate
modules=(n8n_gate http.handlers.n8n_gate n8n_gate.stores.bolt)

say() { printf '%s\n' "$*" >&2; }
die() {
	say "xcaddy.sh: $*"
	exit 1
}

build() {
	command -v go >/dev/null || die "Go is not installed"
	say "building Caddy $CADDY_VERSION with $module"
	# A replacement needs a version to replace; any will do.
	go run "github.com/caddyserver/xcaddy/cmd/xcaddy@$XCADDY_VERSION" build "$CADDY_VERSION" \
		--output ./caddy --with "$module@v0.0.0=."
}

# outdated: there is no binary, or something it is made of is newer.
outdated() {
	[ -x ./caddy ] || return 0
	[ -n "$(find . \( -path ./data -o -path ./tests -o -path ./examples -o -path './.*' \) -prune -o \
		\( -name '*.go' ! -name '*_test.go' -o -name go.mod -o -name go.sum -o -name versions.env \) \
		-newer ./caddy -print)" ]
}

check() {
	local version list name scratch
	version=$(./caddy version)
	printf '%s\n' "$version"
	case $version in
	"$CADDY_VERSION"*) ;;
	*) die "this is not Caddy $CADDY_VERSION" ;;
	esac

	list=$(./caddy list-modules)
	for name in "${modules[@]}"; do
		grep -qxF "$name" <<<"$list" || die "module $name is missing"
		say "module $name"
	done

	# Validating makes every module ready to start, so the secrets that the
	# example names must be there, and Caddy's own directories may be written.
	scratch=$(mktemp -d)
	if ! XDG_DATA_HOME=$scratch XDG_CONFIG_HOME=$scratch \
		SHOP_WEBHOOK_TOKEN=example STRIPE_WEBHOOK_SECRET=whsec_example \
		./caddy adapt --validate --config Caddyfile.example --adapter caddyfile \
		>"$scratch/adapted.json" 2>"$scratch/log"; then
		cat "$scratch/log" >&2
		rm -rf "$scratch"
		die "Caddyfile.example is not valid"
	fi
	rm -rf "$scratch"
	say "Caddyfile.example is valid"
}

# answers ADDRESS: something listens at this host:port.
answers() { (: <"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; }

# await ADDRESS PID WHAT: until it listens there, as long as PID lives, 20 s at most.
await() {
	local tries
	for ((tries = 0; tries < 200; tries++)); do
		kill -0 "$2" 2>/dev/null || die "$3 has ended"
		! answers "$1" || return 0
		sleep 0.1
	done
	die "$3 does not listen on $1"
}

gate_pid=
demo_pid=

# end stops what this run started: the gate first, whose attempts under way may
# still wait for the upstream.
end() {
	local pid
	trap '' INT TERM # a second Ctrl-C must not leave one of them behind
	for pid in $gate_pid $demo_pid; do
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

run() {
	local data=${GATE_DATA:-data} address=${GATE_ADDR:-127.0.0.1:8080} id curl
	export N8N_UPSTREAM=${N8N_UPSTREAM:-127.0.0.1:5678}
	export GATE_ADMIN=${GATE_ADMIN:-localhost:2019}
	export GATE_HOST=${address%:*} GATE_PORT=${address##*:}
	export GATE_STORE=$data/gate.db
	case $address in
	?*:?*) ;;
	*) die "GATE_ADDR is a host and a port, as in 127.0.0.1:8080" ;;
	esac
	! answers "$address" || die "something else listens on $address; set GATE_ADDR"

	(umask 077 && mkdir -p "$data")
	trap end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM

	case ${N8N_UPSTREAM%:*} in
	127.* | localhost)
		if answers "$N8N_UPSTREAM"; then
			say "forwarding to what listens on $N8N_UPSTREAM"
		else
			go build -o "$data/demo" ./examples/demo
			"$data/demo" &
			demo_pid=$!
			await "$N8N_UPSTREAM" "$demo_pid" "the demo upstream"
			say "nothing listened on $N8N_UPSTREAM: started the demo upstream there, which plays n8n"
		fi
		;;
	*) say "forwarding to $N8N_UPSTREAM" ;;
	esac

	# What Caddy itself keeps goes there too, and nothing into the home directory.
	XDG_DATA_HOME=$data XDG_CONFIG_HOME=$data ./caddy run --config examples/demo/Caddyfile --adapter caddyfile &
	gate_pid=$!
	await "$address" "$gate_pid" "the gate"

	id=evt_$(date +%s)
	curl="curl -i -H 'Content-Type: application/json' -d '{\"id\":\"$id\"}' http://$address/webhook/demo"
	cat <<-TEXT

		The gate runs on http://$address. From another terminal, a first delivery:

		    $curl

		and its replay, which the gate answers by itself (N8n-Gate-Decision: replayed):

		    $curl

		Ctrl-C ends it. The store is $data/gate.db.

	TEXT
	wait "$gate_pid"
}

# deliver ADDRESS ID: prints the decision and the body.
deliver() {
	curl -sS -m 30 -D - -H 'Content-Type: application/json' -d "{\"id\":\"$2\"}" "http://$1/webhook/demo" |
		tr -d '\r' | awk 'body { print; next } /^$/ { body = 1 } tolower($1) == "n8n-gate-decision:" { print $2 }'
}

smoke() {
	command -v curl >/dev/null || die "smoke needs curl"
	local data address=127.0.0.1:28080 run_pid first second actions
	data=$(mktemp -d)
	# shellcheck disable=SC2064 # data is local and must be expanded now
	trap "rm -rf '$data'" EXIT
	N8N_UPSTREAM=127.0.0.1:28081 GATE_ADDR=$address GATE_ADMIN=127.0.0.1:28082 GATE_DATA=$data \
		./xcaddy.sh run >"$data/log" 2>&1 &
	run_pid=$!
	# shellcheck disable=SC2064
	trap "kill $run_pid 2>/dev/null || true; wait $run_pid 2>/dev/null || true; rm -rf '$data'" EXIT
	if ! (await "$address" "$run_pid" "./xcaddy.sh run"); then
		cat "$data/log" >&2
		die "the gate did not start"
	fi
	first=$(deliver "$address" evt_1)
	second=$(deliver "$address" evt_1)
	actions=$(grep -c '^action ' "$data/log" || true)
	say "first delivery: ${first//$'\n'/ }"
	say "second delivery: ${second//$'\n'/ }"
	say "actions at the upstream: $actions"
	case $first in new*) ;; *) die "the first delivery was not new" ;; esac
	case $second in replayed*) ;; *) die "the second delivery was not replayed" ;; esac
	[ "${first#new}" = "${second#replayed}" ] || die "the replay differs from the first answer"
	[ "$actions" = 1 ] || die "$actions actions instead of one"
}

case ${1:-build} in
build)
	build
	check
	;;
run)
	! outdated || build
	run
	;;
smoke)
	build
	check
	smoke
	;;
*)
	say "usage: ./xcaddy.sh [build|run|smoke]"
	exit 2
	;;
esac
