#!/bin/bash
# Builds the virtual-time kernel: unpack (or copy) the source, patch, configure, verify, compile.
#
#   kernel/build.sh SOURCE WORKDIR OUTPUT
#
# SOURCE   a kernel tarball (.tar, .tar.xz, .tar.gz) or an unpacked source folder, Linux 6.6 or newer
# WORKDIR  an empty or new folder for the build (about 2 GB while it runs)
# OUTPUT   where the finished kernel goes (one executable file)
#
# Progress lines: "step NAME" at each step; the compiler's own lines ("  CC  file.o") in between.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -ne 3 ]; then
    sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
source=$1 work=$2 output=$3

fail() { echo "kernel build: $*" >&2; exit 1; }

for tool in gcc make flex bison bc xz patch; do
    command -v "$tool" >/dev/null || fail "the program '$tool' is missing; on Debian or Ubuntu: apt-get install gcc libc6-dev make flex bison bc xz-utils patch"
done
[ "$(gcc -print-file-name=libc.a)" != libc.a ] ||
    fail "the C library for static linking (libc.a) is missing; on Debian or Ubuntu: apt-get install libc6-dev"
[ -e "$source" ] || fail "there is no kernel source at $source"
mkdir -p "$work"

echo "step unpack"
tree=$work/source
mkdir -p "$tree"
if [ -d "$source" ]; then
    cp -a "$source/." "$tree/"
else
    # The bulk of what a guest can never use need not be unpacked; its Kconfig files are still read.
    tar -xf "$source" -C "$tree" --strip-components=1 \
        --exclude='*/Documentation/*.rst' --exclude='*/tools/testing/*' --exclude='*/arch/*/boot/dts/*' \
        --exclude='*/sound/*.[ch]' --exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/media/*.[ch]' \
        --exclude='*/drivers/net/ethernet/*.[ch]' --exclude='*/drivers/net/wireless/*.[ch]'
fi
[ -f "$tree/arch/um/Makefile" ] || fail "$source is not a Linux kernel source (arch/um is not in it)"

echo "step patch"
# Patches for every version, then those for the newest of the named versions that is not newer than the source.
version=$(sed -n 's/^VERSION = //p;s/^PATCHLEVEL = //p' "$tree/Makefile" | paste -sd.)
own=
for folder in "$here"/patches/*/; do
    name=$(basename "$folder")
    if printf '%s\n' "${own:-0}" "$name" "$version" | sort -VC; then own=$name; fi
done
changes=("$here"/patches/*.patch)
if [ -n "$own" ]; then
    changes+=("$here/patches/$own"/*.patch)
else
    echo "kernel build: Linux $version is built as it is: it will not start on processors with AMX" >&2
fi
for change in "${changes[@]}"; do
    patch --directory="$tree" --strip=1 --forward --silent --input="$change" ||
        fail "$(basename "$change") does not fit this source (Linux $version); Linux 6.12 and 7.3 are known to work"
done

# Equal inputs give an equal kernel: no build date, user or host inside.
export KBUILD_BUILD_TIMESTAMP='1970-01-01' KBUILD_BUILD_USER=gauntlet KBUILD_BUILD_HOST=gauntlet
kmake() { make -C "$tree" ARCH=um SUBARCH=x86_64 "$@"; }

echo "step configure"
kmake tinyconfig >"$work/configure.log" 2>&1 || { tail -5 "$work/configure.log" >&2; fail "'make tinyconfig' failed"; }
"$tree/scripts/kconfig/merge_config.sh" -m -O "$tree" "$tree/.config" "$here/gauntlet.config" >>"$work/configure.log" 2>&1
kmake olddefconfig >>"$work/configure.log" 2>&1 || { tail -5 "$work/configure.log" >&2; fail "'make olddefconfig' failed"; }

missing=()
while IFS= read -r line; do
    case $line in
        CONFIG_*=n) if grep -q "^${line%=n}=" "$tree/.config"; then missing+=("$line"); fi ;;
        CONFIG_*) if ! grep -qxF "$line" "$tree/.config"; then missing+=("$line"); fi ;;
    esac
done <"$here/gauntlet.config"
if ! grep -qx 'CONFIG_HZ=250' "$tree/.config"; then missing+=(CONFIG_HZ=250); fi
[ ${#missing[@]} -eq 0 ] || fail "this source does not accept these options: ${missing[*]}"

echo "step compile"
kmake -j"$(nproc)" linux

mkdir -p "$(dirname "$output")"
strip -o "$output.part" "$tree/linux"
mv "$output.part" "$output"
echo "step done"
