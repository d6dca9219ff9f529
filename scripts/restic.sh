#!/bin/sh
# Installs restic, beside which the benchmarks measure snapshots, where that can be done unasked.
set -eu

command -v restic >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    printf '  installing restic, to measure snapshots beside it\n'
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq restic >/dev/null 2>&1 && exit 0
fi
printf '  restic is not installed: its rows will say so\n'
