#!/usr/bin/env bash
# Measures the gate and its store and prints a report in Markdown. Linux only.
#
#   tests/bench/run.sh                     all rows
#   tests/bench/run.sh --quick             whether it works: small stores, short turns
#   tests/bench/run.sh --rows store,caddy  some: caddy store open expiry allocs engines
#   tests/bench/run.sh --check             only see that everything compiles
#
# Further flags are the program's own (--rounds, --lasts, --records, --large, --patience,
# --dir, --fresh): tests/bench/README.md. It needs Go; for the other stores also a C
# compiler, redis-server and PostgreSQL: what is missing is left out, and the report says
# so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

check='' rows='' dir=${TMPDIR:-/tmp}/n8n-gate-bench flags=()
while [ $# -gt 0 ]; do
	case $1 in
	--check) check=yes ;;
	--rows | --dir)
		value=${2:?$1 needs a value}
		case $1 in
		--rows) rows=$value ;;
		--dir) dir=$value ;;
		esac
		shift
		;;
	*) flags+=("$1") ;;
	esac
	shift
done

wanted() { [[ -z $rows || ,$rows, == *,$1,* ]]; }

if [ -n "$check" ]; then
	go vet ./tests/bench/...
	(cd tests/bench/engines && go vet ./...)
	exit
fi

mkdir -p "$dir"
go build -o "$dir/bench" ./tests/bench
if wanted caddy; then
	go build -o "$dir/caddy" ./tests/internal/caddy
	flags+=(--caddy "$dir/caddy")
fi
if wanted engines; then
	# A module of its own: the gate's does not depend on other stores.
	if (cd tests/bench/engines && go build -o "$dir/engines" .); then
		flags+=(--engines "$dir/engines")
	else
		echo "tests/bench/run.sh: the other stores do not compile here" >&2
	fi
fi
[ -z "$rows" ] || flags+=(--rows "$rows")
exec "$dir/bench" --root . --dir "$dir" ${flags[@]+"${flags[@]}"}
