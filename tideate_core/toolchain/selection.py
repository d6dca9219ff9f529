"""Selection of the command of each check, and the trust that it needs to run."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tideate_core.errors import UnusableFile
from tideate_core.process import make_environment, project_environment
from tideate_core.project import CONFIG_NAME, Trust, read_document
from tideate_core.toolchain.detection import detect_tools
from tideate_core.toolchain.detection.tools import Check, Tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tideate_core.config import VerifyConfig

__all__ = [
    "ProjectTrust",
    "declared_checks",
    "select_tools",
    "tool_name",
    "untrusted_message",
    "verification_environment",
]

_RUNNERS = {"uv": 1, "poetry": 1, "pdm": 1, "hatch": 1, "pipenv": 1, "npx": 0, "bunx": 0}
"""Programs that run another one, and how many words of their own (`run`) stand before its name."""

_UNATTENDED = {"CI": "1"}
"""So that test runners neither watch nor write snapshots."""


def verification_environment(root: Path, config: VerifyConfig) -> dict[str, str]:
    """Return the environment in which a project's checks run, and in which they are looked for."""
    return project_environment(root, make_environment({**_UNATTENDED, **config.environment}, config.inherit))


def select_tools(
    root: Path, config: VerifyConfig, environment: Mapping[str, str] | None = None
) -> dict[Check, Tool | None]:
    """Return the command of each check; a check that is not there has none, None: it was turned off."""
    selected: dict[Check, Tool | None] = dict(detect_tools(root, environment))
    for check in Check:
        configured = getattr(config, check.value)
        if configured == "off":
            selected[check] = None
        elif configured is not None:
            selected[check] = _configured(root, check, configured)
    return {check: selected[check] for check in Check if check in selected}


def _configured(root: Path, check: Check, words: list[str]) -> Tool:
    from tideate_core.toolchain.testing.runners import SelectedTests, fill_template

    argv = fill_template(words, SelectedTests()) if check == Check.TESTS else tuple(words)
    name, reason = tool_name(list(argv)), f"verify.{check} is configured"
    template = () if argv == tuple(words) else tuple(words)
    named = (word.partition("::")[0] for word in argv[1:] if word[:1] not in ("", "-") and word != name)
    return Tool(check, name, argv, reason, "", template, any(_exists(root / word) for word in named))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the script behind `bash -c` is longer than a name can be
        return False


def tool_name(argv: list[str]) -> str:
    """Return the name of the program whose output a command prints: of `python -m mypy` it is mypy."""
    name = Path(argv[0]).name
    if name.startswith("python") and "-m" in argv[1:-1]:
        return argv[argv.index("-m") + 1].partition(".")[0]
    if name in _RUNNERS:
        # options of the runner stand before the name of what it runs
        rest = argv[1 + _RUNNERS[name] :]
        while rest and rest[0].startswith("-"):
            rest = rest[1:]
        return tool_name(rest) if rest else name
    return name


class ProjectTrust:
    """Permission of a person to run commands in a project.

    Trusted is a command as it is: its arguments, and what the project's own file makes of them (the script
    of package.json, the Makefile). Change either and it asks again. What such a command runs, the tests
    themselves for example, may change: that is what it is run for.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._trust = Trust(root)

    def is_trusted(self, tool: Tool) -> bool:
        """Tell whether the person trusts this command here.

        :raises ConfigError: what is trusted cannot be read.
        """
        return self._trust.allows(tool.meaning)

    def allows(self, tool: Tool) -> bool:
        """Tell whether a command may run: it is trusted, or named by the configuration, which is.

        :raises ConfigError: what is trusted cannot be read.
        """
        return self.is_trusted(tool) or self._is_declared(tool)

    def trust(self, tools: Iterable[Tool | None]) -> None:
        """Trust these commands here.

        :raises ConfigError: what is trusted cannot be read or written.
        """
        for tool in filter(None, tools):
            self._trust.allow(tool.meaning, f"`{shlex.join(tool.argv)}` ({tool.check})")

    def _is_declared(self, tool: Tool) -> bool:
        content, verify = _declared(self._root)
        declared = verify.get(tool.check.value)
        return declared == list(tool.template or tool.argv) and self._trust.is_trusted(CONFIG_NAME, content)


def untrusted_message(tool: Tool) -> str:
    """Return the message that a command may not run, with what a person can do about it."""
    return (
        f"`{shlex.join(tool.argv)}` runs this project's code ({tool.reason}), which is not trusted yet; "
        "look at the project, then run `tideate trust` or `:Workflow trust`"
    )


def declared_checks(root: Path) -> frozenset[str]:
    """Return the checks that the project's own configuration speaks of, trusted or not."""
    return frozenset(_declared(root)[1])


def _declared(root: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the project's configuration, and its `[verify]`; nothing of one that cannot be read."""
    try:
        content = read_document(root, CONFIG_NAME)
        verify: Any = tomllib.loads(content.decode()).get("verify")
    except (OSError, ValueError, UnusableFile):
        return b"", {}
    return content, verify if isinstance(verify, dict) else {}
