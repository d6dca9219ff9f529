#!/bin/sh
# Install the test runners of other languages for `make test-runners`: those of Python and Node in .cache/runners
# at the versions below, the others from Debian's packages if this runs as root.
set -eu
cd "$(dirname "$0")/.."

python='Django==5.2.19 nox==2026.10.20 pytest==9.2.0 tox==4.67.15'
node='jest@30.5.2 mocha@11.8.0 vitest@3.2.7'
place=.cache/runners
marker=$place/installed
if ! [ -f "$marker" ] || [ "$python $node" != "$(cat "$marker")" ]; then
    printf '  installing %s %s\n' "$python" "$node"
    .venv/bin/python -m venv "$place/python"
    # shellcheck disable=SC2086 # a word for each package
    "$place/python/bin/python" -m pip --quiet --disable-pip-version-check install $python
    # shellcheck disable=SC2086
    npm install --prefix "$place" --no-save --no-package-lock --no-audit --no-fund --silent $node </dev/null
    printf '%s\n' "$python $node" >"$marker"
fi

missing=
for program in busted:lua-busted cargo:cargo cmake:cmake go:golang-go mix:elixir rake:rake rspec:ruby-rspec; do
    command -v "${program%:*}" >/dev/null 2>&1 || missing="$missing ${program#*:}"
done
ruby -rminitest -e 0 2>/dev/null || missing="$missing ruby-minitest"
[ "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    printf '  installing%s\n' "$missing"
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    printf 'make: these Debian packages are needed:%s\n' "$missing" >&2
    exit 1
fi
