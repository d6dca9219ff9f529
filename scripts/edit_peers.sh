#!/bin/sh
# Installs the programs beside which the benchmarks measure edits, apart from the environment: aider pins
# every package it uses, and only its matching of edits is run.
set -eu
cd "$(dirname "$0")/.."

aider=0.86.2
codex=0.169.0
opencode=1.18.33
place=.cache/edit-peers
marker=$place/installed
[ -f "$marker" ] && [ "$aider $codex $opencode" = "$(cat "$marker")" ] && exit 0
printf '  installing aider %s, codex %s and opencode %s, to measure edits beside them\n' \
    "$aider" "$codex" "$opencode"
mkdir -p "$place"
.venv/bin/python -m pip --quiet --disable-pip-version-check install --no-deps --upgrade \
    --target "$place/aider" "aider-chat==$aider" || printf '  aider is not installed: its row will be missing\n'
if command -v npm >/dev/null 2>&1 &&
    npm install --prefix "$place" --no-audit --no-fund --silent "@openai/codex@$codex" \
        "opencode-ai@$opencode" </dev/null; then
    printf '%s\n' "$aider $codex $opencode" >"$marker"
else
    printf '  codex and opencode are not installed: their rows will be missing\n'
fi
