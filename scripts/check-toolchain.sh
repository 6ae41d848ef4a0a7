#!/bin/bash
# Sees that Rust and Python are new enough, and says in one sentence what to do when they are not.
set -euo pipefail

[[ $(<"${BASH_SOURCE[0]%/*}/../Cargo.toml") =~ rust-version\ =\ \"([0-9.]+)\" ]]
rust_wanted=${BASH_REMATCH[1]}
python_wanted=3.11
install_rust="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --component clippy,rustfmt"

older() { [ "$1" != "$2" ] && sort --version-sort --check=quiet <<<"$1"$'\n'"$2"; }

rust=none
if command -v rustc >/dev/null && command -v cargo >/dev/null; then rust=$(rustc --version | cut -d' ' -f2); fi
if [ "$rust" = none ] || older "$rust" "$rust_wanted"; then
    echo "Rust $rust_wanted or newer is needed (found: $rust). Type this, then run make again:" >&2
    if command -v rustup >/dev/null; then echo "  rustup update stable" >&2; else echo "  $install_rust" >&2; fi
    exit 1
fi
if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
    echo "The Rust components rustfmt and clippy are needed. Type: rustup component add rustfmt clippy" >&2
    exit 1
fi
python=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if older "$python" "$python_wanted"; then
    echo "Python $python is too old; $python_wanted or newer is needed: set PYTHON to one (for example: make PYTHON=python3.12)." >&2
    exit 1
fi
