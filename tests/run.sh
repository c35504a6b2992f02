#!/usr/bin/env bash
# Every check of this repository, in the order in which they fail fastest.
#
#   tests/run.sh                    everything
#   tests/run.sh --short            go test -short, without lint and smoke
#   tests/run.sh --no-lint          leave golangci-lint out
#   tests/run.sh --no-smoke         leave the build with xcaddy out
#   tests/run.sh --fuzz 30s         also run each fuzz target for so long
#   tests/run.sh --soak             also 200,000 deliveries without a fault
#
# Needs Go and, for the race detector, a C compiler; curl for the smoke test; Node
# for what is compared with JSON.parse, which is skipped without it. The scripts are
# checked too where shellcheck is there. .ci/run installs all of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=versions.env
. ./versions.env

lint=yes smoke=yes fuzz='' short=()
while [ $# -gt 0 ]; do
	case $1 in
	--short) short=(-short) lint='' smoke='' ;;
	--no-lint) lint='' ;;
	--no-smoke) smoke='' ;;
	--soak) export N8N_GATE_SOAK=1 ;;
	--fuzz)
		fuzz=${2:?--fuzz needs a duration}
		shift
		;;
	*)
		echo "tests/run.sh: unknown argument $1" >&2
		exit 2
		;;
	esac
	shift
done

stage() { printf '\n== %s (%ds)\n' "$*" "$SECONDS"; }
die() {
	printf 'tests/run.sh: %s\n' "$*" >&2
	exit 1
}

# fuzz_target PACKAGE TARGET. The minimising of inputs that are merely new is kept
# short: it would take the time for finding more of them. When the time is up, go test
# now and then takes its own deadline for a failure: the coordinator compares the
# context's error with its child's before that one has it (golang/go#75804). A failure
# that the target itself found writes an input or says more than that.
fuzz_target() {
	local log
	log=$(mktemp)
	if go test -run '^$' -fuzz "^$2\$" -fuzztime "$fuzz" -fuzzminimizetime 5x "$1" 2>&1 | tee "$log"; then
		rm "$log"
		return
	fi
	local said
	said=$(sed -n '/^--- FAIL/,$p' "$log" | grep -vE '^(--- FAIL: .*|FAIL.*|exit status 1)$' | tr -d ' ')
	rm "$log"
	[ "$said" = contextdeadlineexceeded ] || die "fuzzing $2 failed"
	echo "$2: nothing found; go test took the end of its own time for a failure"
}

stage "gofmt"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || die "not formatted by gofmt: $unformatted"

stage "versions"
required=$(go list -m -f '{{.Version}}' github.com/caddyserver/caddy/v2)
[ "$required" = "$CADDY_VERSION" ] || die "go.mod requires Caddy $required, versions.env says $CADDY_VERSION"

if command -v shellcheck >/dev/null; then
	stage "shellcheck"
	shellcheck -x xcaddy.sh tests/run.sh tests/bench/run.sh .ci/run
fi

stage "go vet"
go vet ./...
go vet -tags failpoints ./...

stage "go test"
# 20 minutes end a test that hangs with a dump of all goroutines; the whole-server
# tests alone take several.
go test -race -timeout 20m ${short[@]+"${short[@]}"} ./...

if [ -n "$fuzz" ]; then
	# One target of one package at a time is all that go test can fuzz.
	while read -r package target; do
		stage "fuzz $package $target"
		fuzz_target "$package" "$target"
	done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./... | while read -r package dir; do
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$dir"/*_test.go | sed "s|^|$package |"
	done)
fi

if [ -n "$lint" ]; then
	stage "golangci-lint $GOLANGCI_LINT_VERSION"
	go run "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$GOLANGCI_LINT_VERSION" run ./...
fi

if [ -n "$smoke" ]; then
	stage "xcaddy smoke"
	./xcaddy.sh smoke
fi

stage "all passed"
