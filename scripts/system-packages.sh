#!/bin/bash
# Sees that the Debian packages a build needs are there: installs them as root or with sudo, else prints the one command.
#
#   scripts/system-packages.sh PACKAGE...
set -euo pipefail

missing=()
for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "These packages are needed (Debian names): ${missing[*]}. Install your distribution's counterparts." >&2
    exit 1
fi
install=(apt-get install --yes --no-install-recommends "${missing[@]}")
if [ "$(id -u)" -eq 0 ]; then
    as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo)
else
    echo "Some system packages are missing. Type this, then run make again:" >&2
    echo "  sudo apt-get update && sudo ${install[*]}" >&2
    exit 1
fi
echo "Installing system packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" "${install[@]}" >/dev/null
