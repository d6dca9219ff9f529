"""Selection of each check's commands, and the trust that they need to run."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tideate_core.errors import UnusableFile
from tideate_core.process import make_environment, project_environment
from tideate_core.project import CONFIG_NAME, Trust, read_document
from tideate_core.toolchain.detection import detect_tools, recipe_of
from tideate_core.toolchain.detection.parts import affected_folders
from tideate_core.toolchain.detection.tools import Check, Tool, tool_name
from tideate_core.util.programs import find_on_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tideate_core.config import VerifyConfig

_MANAGERS = ("npm", "pnpm", "yarn", "bun")
_PIP = (
    "black", "flake8", "invoke", "isort", "mkdocs", "mypy", "nox", "pyright", "pytest", "ruff",
    "sphinx-build", "tox", "yamllint",
)  # fmt: skip
_HOW = {
    **{name: f"run `pip install {name.removesuffix('-build')}`" for name in _PIP},
    "pyproject-build": "run `pip install build`",
    "django-admin": "run `pip install Django`",
    **{name: f"run `npm install -g {name}`" for name in ("pnpm", "yarn", "bun")},
    **dict.fromkeys(("npm", "npx", "node"), "install Node.js"),
    **dict.fromkeys(("cargo", "cargo-clippy"), "install Rust with rustup"),
    **dict.fromkeys(("cmake", "ctest"), "install CMake"),
    **dict.fromkeys(("mix", "elixir"), "install Elixir"),
    "bundle": "run `gem install bundler`",
    "go": "install Go",
    "mvn": "install Maven",
    "gradle": "install Gradle",
}
"""Installation advice by program."""

_UNATTENDED = {"CI": "1"}
"""Keeps test runners of JavaScript from watching files and writing snapshots."""
_NEVER_WATCH = ("python", "pytest", "py.test", "tox", "nox", "go", "cargo", "ctest")
"""Name beginnings of programs that never watch files."""


def verification_environment(root: Path, config: VerifyConfig) -> dict[str, str]:
    """Return the environment in which a project's checks are detected."""
    return project_environment(root, make_environment(config.environment, config.inherit, plain=False))


def select_tools(
    root: Path, config: VerifyConfig, environment: Mapping[str, str] | None = None
) -> dict[Check, tuple[Tool, ...]]:
    """Return the commands of each check; an empty tuple is a check that was turned off."""
    selected = detect_tools(root, environment)
    for check in Check:
        configured = getattr(config, check.value)
        if configured is not None:
            selected[check] = (
                ()
                if configured == "off"
                else (_configured(root, check, configured, own=check.value in config.own),)
            )
    return {check: selected[check] for check in Check if check in selected}


def _configured(root: Path, check: Check, words: list[str], *, own: bool) -> Tool:
    from tideate_core.toolchain.testing.runners import SelectedTests, fill_template

    argv = fill_template(words, SelectedTests()) if check == Check.TESTS else tuple(words)
    name, reason = tool_name(list(argv)), f"verify.{check} is configured"
    template = () if argv == tuple(words) else tuple(words)
    named = (word.partition("::")[0] for word in argv[1:] if word[:1] not in ("", "-") and word != name)
    return Tool(
        check,
        name,
        argv,
        reason,
        recipe_of(root, argv),
        template,
        # `Path.exists` raises for a script after `bash -c`, longer than any file name
        any(os.path.exists(root / word) for word in named),  # noqa: PTH110
        own=own and not _is_in_project(root, argv[0]),
    )


def _is_in_project(root: Path, name: str) -> bool:
    """Return whether a program is a file of the project, which may have come with it."""
    if "/" in name:
        places = os.path.realpath(root / name), os.path.realpath((root / name).parent)
        return any(Path(place).is_relative_to(os.path.realpath(root)) for place in places)
    return find_on_path(name, project_environment(root, {"PATH": ""})) is not None


def affected_tools(
    root: Path, config: VerifyConfig, tools: Mapping[Check, Sequence[Tool]], changed: Collection[str]
) -> frozenset[Tool]:
    """Return the tools that must run after a change; blocking.

    Configured commands always run; all tools run if the project has only one part, or nothing changed.

    :param changed: files relative to the root.
    """
    parts = {tool.folder for check in tools for tool in tools[check] if getattr(config, check.value) is None}
    folders = affected_folders(root, parts, changed) if len(parts) > 1 and changed else parts
    return frozenset(
        tool
        for check in tools
        for tool in tools[check]
        if tool.folder in folders or getattr(config, check.value) is not None
    )


def share_files(
    tools: Iterable[Tool], files: Sequence[str], *, configured: bool
) -> dict[Tool, tuple[str, ...]]:
    """Return the tools for the tests in some files, each with its files relative to its folder.

    :param files: relative to the root; empty: all tools, each without files.
    """
    from tideate_core.toolchain.testing.listing import is_test_file
    from tideate_core.toolchain.testing.runners import runner_name

    known = list(tools)
    shares: dict[Tool, list[str]] = {} if files else {tool: [] for tool in known}
    for file in files:
        holding = [tool for tool in known if f"{file}/".startswith(f"{tool.folder}/" if tool.folder else "")]
        deepest = max((len(tool.folder) for tool in holding), default=0)
        near = [tool for tool in holding if len(tool.folder) == deepest]
        fitting = [tool for tool in near if is_test_file(file, runner_name(tool, configured=configured))]
        for tool in fitting or near:
            shares.setdefault(tool, []).append(file[len(tool.folder) :].lstrip("/") or ".")
    return {tool: tuple(shares[tool]) for tool in known if tool in shares}


def tool_environment(root: Path, tool: Tool, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which a tool runs, with the programs of its folder first in PATH."""
    own = {} if Path(tool.argv[0]).name.startswith(_NEVER_WATCH) else _UNATTENDED
    environment = {**own, **environment}
    return project_environment(root / tool.folder, environment) if tool.folder else environment


def missing_program(root: Path, tool: Tool, environment: Mapping[str, str]) -> str:
    """Return a message about a tool's missing program and its installation; empty without one; blocking.

    :param environment: the root's environment.
    """
    known = tool_environment(root, tool, environment)
    for name in filter(None, (tool.argv[0], tool.needs)):
        place = root / tool.folder / name if "/" in name else find_on_path(name, known)
        if place is None or not (place.is_file() and os.access(place, os.X_OK)):
            where = f" in {tool.folder}" if tool.folder else ""
            manager = tool.name if tool.name in _MANAGERS else "npm" if tool.argv[0] == "npx" else ""
            how = (
                f"run `{manager} install`{where}"
                if manager and name == tool.needs
                else _HOW.get(name.rpartition("/")[2], "install it")
            )
            return f"{name} is not installed; {how}"
    return ""


class ProjectTrust:
    """A person's permissions to run commands in a project.

    Trust covers a command exactly: its arguments and the project text that it runs (the script in
    package.json, the Makefile). If either changes, the person is asked again. The code behind it, such as the
    tests, may change: the command exists to run it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._trust = Trust(root)

    def is_trusted(self, tool: Tool) -> bool:
        """Return whether the person trusts this command here.

        :raises ConfigError: the record of trust cannot be read.
        """
        return self._trust.allows(tool.meaning)

    def allows(self, tool: Tool) -> bool:
        """Return whether a command may run: the person's own, trusted, or from a trusted configuration.

        :raises ConfigError: the record of trust cannot be read.
        """
        return tool.own or self.is_trusted(tool) or self._is_declared(tool)

    def trust(self, tools: Iterable[Tool]) -> None:
        """Trust these commands here.

        :raises ConfigError: the record of trust cannot be read or written.
        """
        for tool in tools:
            self._trust.allow(tool.meaning, f"`{tool.words}` ({tool.check})")

    def _is_declared(self, tool: Tool) -> bool:
        content, verify = declared_commands(self._root)
        declared = verify.get(tool.check.value)
        return declared == list(tool.template or tool.argv) and self._trust.is_trusted(CONFIG_NAME, content)


def untrusted_message(tool: Tool) -> str:
    """Return the error for an untrusted command, with a remedy."""
    return (
        f"`{tool.words}` runs this project's code ({tool.reason}), which is not trusted yet; "
        "look at the project, then run `tideate trust` or `:Workflow trust`"
    )


def declared_checks(root: Path) -> frozenset[str]:
    """Return the checks declared in the project's own configuration, trusted or not."""
    return frozenset(declared_commands(root)[1])


def declared_commands(root: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the text of the project's configuration and its `[verify]` table; empty if it cannot be read."""
    try:
        content = read_document(root, CONFIG_NAME)
        verify: Any = tomllib.loads(content.decode()).get("verify")
    except (OSError, ValueError, UnusableFile):
        return b"", {}
    return content, verify if isinstance(verify, dict) else {}
