#!/bin/bash
# Sees that Rust and Python are new enough, and says in one sentence what to do when they are not.
set -euo pipefail

rust_wanted=1.88
python_wanted=3.11

older() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ]; }

if ! command -v cargo >/dev/null; then
    echo "Rust $rust_wanted or newer is needed and there is no 'cargo': see https://rustup.rs for the one command that installs it." >&2
    exit 1
fi
rust=$(rustc --version | cut -d' ' -f2)
if older "$rust" "$rust_wanted"; then
    echo "Rust $rust is too old; $rust_wanted or newer is needed: type 'rustup update stable', or see https://rustup.rs." >&2
    exit 1
fi
python=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if older "$python" "$python_wanted"; then
    echo "Python $python is too old; $python_wanted or newer is needed: set PYTHON to one (for example: make PYTHON=python3.12)." >&2
    exit 1
fi
