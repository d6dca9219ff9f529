#!/bin/sh
# Adds a dependency group of pyproject.toml to .venv, and nothing when it is there already.
#
#   sh scripts/group.sh peers
set -eu
cd "$(dirname "$0")/.."

group=$1
marker=.venv/tideate-group-$group
wanted=$(cksum pyproject.toml constraints.txt)

[ -f "$marker" ] && [ "$wanted" = "$(cat "$marker")" ] && exit 0
printf '  installing the packages of the group %s\n' "$group"
.venv/bin/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt --group "$group" || {
    printf 'make: the group %s cannot be installed in .venv\n' "$group" >&2
    exit 1
}
printf '%s\n' "$wanted" >"$marker"
