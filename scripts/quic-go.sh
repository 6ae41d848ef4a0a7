#!/bin/bash
# Builds the web server of controls/quic-go with an old version of quic-go and with a current one: positive control and
# counterpart of attacks on QUIC whose bound lies in the library (a minute; Go 1.26 or newer).
#
#   scripts/quic-go.sh
#
# They go to the user's cache (quic-go/ below GAUNTLET_CACHE, or below gauntlet/ in XDG_CACHE_HOME or ~/.cache). The old
# one has published weaknesses and listens on loopback alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../controls/quic-go"

out=${GAUNTLET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gauntlet}/quic-go

command -v go >/dev/null || { echo "Go is not installed (go.dev)" >&2; exit 1; }
mkdir -p "$out"
go build -trimpath -o "$out/current" .
# The old version takes functions of Go's TLS by their names, which the linker has to be told to let it.
go build -trimpath -modfile=old.mod -ldflags=-checklinkname=0 -o "$out/old" .
for build in "$out"/*; do
    echo "$build: $(go version -m "$build" | awk '$2 == "github.com/quic-go/quic-go" { print $3 }')"
done
