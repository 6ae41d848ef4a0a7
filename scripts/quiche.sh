#!/bin/bash
# Builds the web server of controls/quiche with an old version of quiche and with one that has the bounds which that
# lacks: positive control and counterpart of attacks on QUIC whose bound lies in the library (some minutes on two cores).
#
#   scripts/quiche.sh
#
# They go to the user's cache (quiche/ below GAUNTLET_CACHE, or below gauntlet/ in XDG_CACHE_HOME or ~/.cache). The old
# one has published weaknesses and listens on loopback alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${GAUNTLET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gauntlet}/quiche
built=$PWD/target/quiche

scripts/system-packages.sh gcc g++ libc6-dev cmake make
build() { cargo build --quiet --manifest-path controls/quiche/Cargo.toml --target-dir "$built" --release --locked "$@"; }

echo "Building quiche 0.19.0 and BoringSSL"
build --package old
# Both bring the same BoringSSL, so that it is built once and only quiche differs.
libraries=("$built"/release/build/quiche-*/out/build/libssl.a)
export QUICHE_BSSL_PATH=${libraries[0]%/build/libssl.a}
echo "Building quiche 0.24.9"
build --package later
mkdir -p "$out"
install -t "$out" "$built/release/old" "$built/release/later"
for program in "$out"/*; do
    echo "$program: $("$program" --version)"
done
