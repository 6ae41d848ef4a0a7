#!/bin/bash
# Builds nginx with HTTP/3 from the source package of Debian 13, for `gauntlet attack` (a minute on two cores).
#
#   scripts/nginx.sh
#
# Distributions build nginx without HTTP/3. It goes to the user's cache (nginx/ below GAUNTLET_CACHE, or below
# gauntlet/ in XDG_CACHE_HOME or ~/.cache), with lists and sources of its own: what the machine has installed, and its
# package lists, stay as they are. DEBIAN_MIRROR names another mirror than the one that the machine uses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${GAUNTLET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gauntlet}/nginx
keys=/usr/share/keyrings/debian-archive-keyring.gpg

scripts/system-packages.sh gcc libc6-dev make libssl-dev dpkg-dev debian-archive-keyring

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/source"

mapfile -t mirrors < <(
    apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null
)
mirror=${DEBIAN_MIRROR:-${mirrors[0]:-http://deb.debian.org/debian/}}
echo "deb-src [signed-by=$keys] $mirror trixie main" >"$work/sources.list"
apt=(
    apt-get -qq -o Acquire::Retries=3 -o APT::Sandbox::User=root
    -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache"
)
echo "Fetching the source of nginx"
"${apt[@]}" update
cd "$work/source"
if "${apt[@]}" source --download-only nginx; then
    dpkg-source --no-check --extract nginx_*.dsc tree >/dev/null
else
    # A mirror that is being brought up to date may lack what changed last.
    echo "Debian's changes cannot be fetched now: upstream's source is taken as it is" >&2
    "${apt[@]}" source --download-only --tar-only nginx
    mkdir tree
    tar -xf nginx_*.orig.tar.gz -C tree --strip-components=1
fi

echo "Building it"
cd tree
# Without rules for URLs and without compression it needs neither PCRE nor zlib.
./configure --prefix="$out" --with-http_ssl_module --with-http_v2_module --with-http_v3_module \
    --without-http_rewrite_module --without-http_gzip_module --with-cc-opt=-O2 >"$work/configure.log" ||
    { tail -n 20 "$work/configure.log" >&2; exit 1; }
make --silent --jobs="$(nproc)" >"$work/make.log" 2>&1 || { tail -n 20 "$work/make.log" >&2; exit 1; }
make --silent install >/dev/null
"$out/sbin/nginx" -V 2>&1 | { read -r version; echo "$version is in $out"; cat >/dev/null; }
