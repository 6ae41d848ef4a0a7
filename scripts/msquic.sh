#!/bin/bash
# Builds experiments/recipes/msquic, which moves files over MsQuic, for experiments/msquic.toml (it compiles quictls
# and MsQuic, which takes a while).
#
#   scripts/msquic.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

built=$PWD/target/msquic

# MsQuic wants libnuma's header; its Rust part links libnuma.a from where Debian has it.
scripts/system-packages.sh gcc g++ libc6-dev cmake make perl libnuma-dev
echo "Building MsQuic and quictls"
cargo build --quiet --manifest-path experiments/recipes/msquic/Cargo.toml --target-dir "$built" --release --locked
program=$built/release/msquic-transfer
echo "$program: $("$program" --version)"
