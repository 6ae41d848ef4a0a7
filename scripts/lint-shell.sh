#!/bin/bash
# Runs shellcheck over every shell script of the project, and over the recipes of the Makefile.
#
# A shell script is a file named *.sh, or an executable one whose first line names a shell.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts=()
while IFS= read -r -d '' file; do
    read -r -n 100 first <"$file" || true
    if [[ $file == *.sh || $first =~ ^#!.*[/\ ](ba|da)?sh($|\ ) ]]; then scripts+=("$file"); fi
done < <(find . \( -path ./target -o -path ./build -o -path ./.venv -o -path ./.git -o -path ./results \) -prune \
    -o -type f \( -name '*.sh' -o -perm /111 \) -size -1000k -print0)
shellcheck "${scripts[@]}"

# What make would hand to sh, one recipe after the other, with make's own variables filled in.
unset MAKEFLAGS MAKELEVEL
read -r -a targets < <(sed -n 's/^\.PHONY: //p' Makefile)
recipes=$(make --dry-run --always-make --no-print-directory "${targets[@]}")
sed '/^make: /d' <<<"$recipes" | shellcheck --shell=sh -
echo "shellcheck: ${#scripts[@]} scripts and the recipes of ${#targets[@]} targets are clean"
