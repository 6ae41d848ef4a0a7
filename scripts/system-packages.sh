#!/bin/bash
# Sees that Debian packages are there: installs them as root or with sudo, else prints the one command and stops.
#
#   scripts/system-packages.sh PACKAGE...
#   scripts/system-packages.sh --if-available PACKAGE...   leaves out those that the distribution does not have
#   scripts/system-packages.sh --first-of PACKAGE...       the first one that is installed or to be had
set -euo pipefail

mode=all
case ${1:-} in
    --if-available | --first-of) mode=$1; shift ;;
esac

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
available() { apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'; }

missing=()
for package in "$@"; do
    installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$mode" = --first-of ] && [ ${#missing[@]} -lt $# ]; then exit 0; fi

if ! command -v apt-get >/dev/null; then
    echo "These packages are needed (Debian names): ${missing[*]}. Install your distribution's counterparts." >&2
    [ "$mode" = --if-available ] && exit 0
    exit 1
fi

as_root=()
can_install=yes
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then can_install=no; fi
fi
export DEBIAN_FRONTEND=noninteractive
if [ $can_install = yes ]; then "${as_root[@]}" apt-get update -qq; fi

if [ "$mode" != all ]; then
    wanted=()
    for package in "${missing[@]}"; do
        if available "$package"; then
            wanted+=("$package")
            if [ "$mode" = --first-of ]; then break; fi
        fi
    done
    if [ ${#wanted[@]} -eq 0 ]; then
        echo "This distribution has no package of these: ${missing[*]}." >&2
        [ "$mode" = --if-available ] && exit 0
        exit 1
    fi
    missing=("${wanted[@]}")
fi

install=(apt-get install --yes --no-install-recommends "${missing[@]}")
if [ $can_install = no ]; then
    echo "Some system packages are missing. Type this, then run make again:" >&2
    echo "  sudo apt-get update && sudo ${install[*]}" >&2
    [ "$mode" = --if-available ] && exit 0
    exit 1
fi
echo "Installing system packages: ${missing[*]}"
"${as_root[@]}" "${install[@]}" >/dev/null
