"""Environment variables of programs: an allowlist of inherited ones, and configured ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

INHERITED: Final = frozenset(
    {
        "CARGO_HOME",
        "DEVELOPER_DIR",
        "GOCACHE",
        "GOFLAGS",
        "GOMODCACHE",
        "GOPATH",
        "GOPROXY",
        "GOROOT",
        "GOTOOLCHAIN",
        "HOME",
        "JAVA_HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "NIX_LD",
        "NIX_LD_LIBRARY_PATH",
        "NIX_PATH",
        "NODE_EXTRA_CA_CERTS",
        "NVM_DIR",
        "PATH",
        "PNPM_HOME",
        "PYENV_ROOT",
        "REQUESTS_CA_BUNDLE",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "SDKROOT",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "VOLTA_HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    }
)
"""Inherited variables, besides all `LC_*`: locations and languages; none is likely to hold a secret."""

VIRTUAL_ENVIRONMENTS: Final = (".venv", "venv", "env")
"""Usual directories of a Python project's virtual environment."""

_ALWAYS: Final = {"GIT_TERMINAL_PROMPT": "0", "PYTHONUNBUFFERED": "1"}
"""Set for every program: no one answers prompts; Python's output is not buffered."""
_PLAIN: Final = {"NO_COLOR": "1", "TERM": "dumb"}
_TERMINAL: Final = frozenset({"COLORTERM", "NO_COLOR", "TERM"})


def make_environment(
    extra: Mapping[str, str] | None = None, inherit: Iterable[str] = (), *, plain: bool = True
) -> dict[str, str]:
    """Return the environment of a program: of ours only `INHERITED` and named variables.

    :param extra: variables that override ours.
    :param inherit: names of further variables to inherit.
    :param plain: for output without colours; False: inherit the terminal's variables.
    """
    named = INHERITED.union(inherit, () if plain else _TERMINAL)
    kept = {name: value for name, value in os.environ.items() if name in named or name.startswith("LC_")}
    return {**_ALWAYS, **(_PLAIN if plain else {}), **kept, **(extra or {})}


def project_environment(root: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with the project's own programs first in PATH."""
    known = dict(environment)
    folders = [root / "node_modules" / ".bin"]
    for name in VIRTUAL_ENVIRONMENTS:
        if (root / name / "bin" / "python").exists():
            known["VIRTUAL_ENV"] = str(root / name)
            folders.insert(0, root / name / "bin")
            break
    path = [str(folder) for folder in folders if folder.is_dir()]
    return {**known, "PATH": os.pathsep.join([*path, known.get("PATH", os.defpath)])}
