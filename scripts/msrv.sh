#!/bin/bash
# Checks that the Rust which Cargo.toml states (`rust-version`) is new enough for the crates and their tests.
#
# With that very version where rustup has it (nothing is downloaded); else, which is said, only that no library of
# Cargo.lock asks for a newer one. That the standard library is not used beyond it, clippy sees in any case
# (its lint `incompatible_msrv` reads the same line).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[[ $(<Cargo.toml) =~ rust-version\ =\ \"([0-9.]+)\" ]] || {
    echo "Cargo.toml states no rust-version; add it to [workspace.package]." >&2
    exit 1
}
stated=${BASH_REMATCH[1]}

toolchain=
if command -v rustup >/dev/null; then
    while read -r name _; do
        case $name in "$stated"-* | "$stated".*) toolchain=$name ;; esac
    done < <(rustup toolchain list)
fi
if [ -n "$toolchain" ]; then
    # Its products are of no use to the other version.
    cargo "+$toolchain" check --locked --workspace --all-targets --quiet --target-dir target/msrv
    echo "Rust $stated is new enough for every crate and its tests (checked with $toolchain)."
    exit
fi

newer=$(cargo metadata --locked --format-version 1 --filter-platform x86_64-unknown-linux-gnu | python3 -c '
import json, sys
number = lambda text: tuple(map(int, text.split(".")))
for package in json.load(sys.stdin)["packages"]:
    if package["rust_version"] and number(package["rust_version"])[:2] > number(sys.argv[1])[:2]:
        print("  {name} {version} asks for Rust {rust_version}".format(**package))
' "$stated")
if [ -n "$newer" ]; then
    echo "Rust $stated is stated and too old for what Cargo.lock has:" >&2
    echo "$newer" >&2
    exit 1
fi
echo "Rust $stated: no library of Cargo.lock asks for a newer one. Not compiled with it, as rustup does not have it;"
echo "for that type: rustup toolchain install $stated --profile minimal"
