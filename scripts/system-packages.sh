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

# apt's words are read below: they must not be translated.
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

# No `grep -q` behind a pipe: it ends first, the writer dies of SIGPIPE, and `pipefail` turns "found" into "not found".
installed() {
    local status
    status=$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null) && [[ $status == *'ok installed'* ]]
}
available() {
    local policy
    policy=$(apt-cache policy "$1" 2>/dev/null) && [[ $policy =~ Candidate:\ [^\(] ]]
}

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
    as_root=(sudo env "LC_ALL=$LC_ALL" "DEBIAN_FRONTEND=$DEBIAN_FRONTEND")
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then can_install=no; fi
fi

# Another apt may hold the lock, and a mirror may stumble: wait for the one, try the other again.
apt=(apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
update() {
    local said waits=0 failures=0
    until said=$("${as_root[@]}" "${apt[@]}" update -qq 2>&1); do
        # The lock of the package lists is not among those that DPkg::Lock::Timeout waits for.
        if [[ $said == *'Could not get lock'* ]] && [ $waits -lt 30 ]; then
            waits=$((waits + 1))
            sleep 10
        elif [ $failures -lt 2 ]; then
            failures=$((failures + 1))
            sleep $((failures * 10))
        else
            echo "$said" >&2
            return 1
        fi
    done
}
lists=
if [ $can_install = yes ] && ! update; then
    lists=" (apt-get update failed, its last words stand above: the package lists may be old or missing)"
fi

if [ "$mode" != all ]; then
    wanted=()
    for package in "${missing[@]}"; do
        if available "$package"; then
            wanted+=("$package")
            if [ "$mode" = --first-of ]; then break; fi
        fi
    done
    if [ ${#wanted[@]} -eq 0 ]; then
        echo "This distribution has no package of these: ${missing[*]}$lists." >&2
        [ "$mode" = --if-available ] && exit 0
        exit 1
    fi
    missing=("${wanted[@]}")
fi

if [ $can_install = no ]; then
    echo "Some system packages are missing. Type this, then run make again:" >&2
    echo "  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    [ "$mode" = --if-available ] && exit 0
    exit 1
fi
echo "Installing system packages: ${missing[*]}"
# What dpkg says, its errors too, apt writes to its own output: the end of that is the reason.
if ! said=$("${as_root[@]}" "${apt[@]}" install --yes --no-install-recommends "${missing[@]}"); then
    mapfile -t lines <<<"$said"
    printf '%s\n' "${lines[@]:${#lines[@]} > 20 ? ${#lines[@]} - 20 : 0}" >&2
    echo "These system packages could not be installed: ${missing[*]}$lists; apt's reason stands above." >&2
    exit 1
fi
