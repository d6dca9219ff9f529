"""Trust in a project: a plan of items with their effects, and its approval or revocation."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tideate_core.app.opening import note_project
from tideate_core.app.trust_effects import effects_of
from tideate_core.config import load_config
from tideate_core.errors import ConfigError
from tideate_core.project import LARGEST_TRUSTED, Trust, files_to_trust, name_in_project, read_document
from tideate_core.toolchain import (
    ProjectTrust,
    detect_clean_command,
    missing_program,
    select_tools,
    verification_environment,
)
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.mcp.servers import RepositoryPrograms
    from tideate_core.toolchain import Tool
    from tideate_core.workflows import Catalog


@dataclass(frozen=True, slots=True)
class TrustItem:
    """A file, command or repository to trust in its current state."""

    kind: Literal["file", "command", "repository"]
    name: str
    """Path relative to the root, or the words of a command."""
    effects: tuple[str, ...]
    """Effects of trust, each as an imperative phrase."""
    trusted: bool
    """Whether its current state is trusted already."""
    changes: str = ""
    """Unified diff from the last trusted state, from an empty file if there is none."""
    mistake: str = ""
    """Reason why it cannot be trusted: its effects are unknown."""
    content: bytes = field(default=b"", repr=False)
    tool: Tool | None = None
    brought: RepositoryPrograms | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "kind": self.kind,
            "name": self.name,
            "effects": list(self.effects),
            "trusted": self.trusted,
            "changes": self.changes,
            "mistake": self.mistake,
        }


@dataclass(frozen=True, slots=True)
class TrustPlan:
    """Items to trust at once; approval trusts exactly these contents and reads no file again."""

    root: Path
    items: tuple[TrustItem, ...]

    @property
    def waiting(self) -> list[TrustItem]:
        """Items that can be trusted and are not yet."""
        return [item for item in self.items if item.effects and not item.trusted]

    @property
    def mistaken(self) -> list[TrustItem]:
        """Items that cannot be trusted."""
        return [item for item in self.items if item.mistake]

    @property
    def token(self) -> str:
        """Hash of the root and all items."""
        whole = hashlib.sha256(str(self.root).encode("utf-8", "surrogateescape"))
        for item in self.items:
            meaning = item.tool.meaning if item.tool else item.brought.meaning if item.brought else ""
            for part in (item.kind, item.name, meaning):
                whole.update(part.encode("utf-8", "surrogateescape") + b"\0")
            whole.update(hashlib.sha256(item.content).digest())
        return whole.hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "root": str(self.root),
            "token": self.token,
            "items": [item.as_json() for item in self.items],
        }


def plan_trust(root: Path, catalog: Catalog, file: Path | None = None) -> TrustPlan:
    """Return the trust plan of a project in its current state; blocking, read-only.

    :param catalog: the project's workflows.
    :param file: plan only this file; None plans all files, commands and programs of the repository.
    :raises ConfigError: there is nothing to trust, or a file cannot be read.
    """
    trust = Trust(root)
    if file is not None:
        name = name_in_project(root, file)
        try:
            contents = {name: read_document(root, name, LARGEST_TRUSTED)}
        except FileNotFoundError as error:
            raise ConfigError(f"{file} does not exist; there is nothing to trust") from error
        return TrustPlan(root, tuple(_files(root, contents, trust, catalog)))
    items = [
        *_files(root, files_to_trust(root), trust, catalog),
        *_commands(root),
        *_repository(root),
    ]
    if not items:
        raise ConfigError(
            f"{root / '.tideate'} has no config.toml, no prompts/*.md, no agents/*.md and no "
            "workflows/*.yaml or *.json, and no command was found that verifies the project; there is "
            "nothing to trust"
        )
    return TrustPlan(root, tuple(items))


def apply_trust(plan: TrustPlan) -> None:
    """Trust every item of a plan that can be trusted.

    :raises ConfigError: the trust cannot be stored.
    """
    trust = Trust(plan.root)
    for item in plan.items:
        if not item.effects:
            continue
        if item.tool is not None:
            ProjectTrust(plan.root).trust([item.tool])
            trust.keep(item.name, item.content)
        elif item.brought is not None:
            from tideate_core.mcp.servers import trust_programs

            trust_programs(item.brought)
            trust.keep(item.name, item.content)
        else:
            trust.trust(item.name, item.content)
    note_project(plan.root)


def revoke_trust(root: Path, file: Path | None = None) -> list[str]:
    """Revoke the trust in a file or in a whole project; return the names of the revoked items.

    :raises ConfigError: the stored trust cannot be read or written.
    """
    trust = Trust(root)
    if file is not None:
        name = name_in_project(root, file)
        return [name] if trust.revoke(name) else []
    return [*(name for name in trust.names() if trust.revoke(name)), *trust.revoke_allowed()]


def _files(root: Path, contents: dict[str, bytes], trust: Trust, catalog: Catalog) -> list[TrustItem]:
    return [_file(root, name, content, trust, catalog) for name, content in contents.items()]


def _file(root: Path, name: str, content: bytes, trust: Trust, catalog: Catalog) -> TrustItem:
    effects = effects_of(root, name, content, catalog)
    changes = _changes(name, trust.last_trusted(name), content)
    trusted = trust.is_trusted(name, content)
    return TrustItem("file", name, effects.words, trusted, changes, effects.mistake, content)


def _changes(name: str, before: bytes | None, after: bytes) -> str:
    old = "" if before is None else before.decode("utf-8", "replace")
    lines = difflib.unified_diff(
        _lines(old),
        _lines(after.decode("utf-8", "replace")),
        "/dev/null" if before is None else f"{label(name)} (trusted)",
        label(name),
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _lines(text: str) -> list[str]:
    # not splitlines(): other line separators are part of their lines
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _commands(root: Path) -> list[TrustItem]:
    # as trusted: the plan includes the commands of the project's configuration
    config = load_config(root, as_trusted=True).config.verify
    environment = verification_environment(root, config)
    allowed = ProjectTrust(root)
    tools = [tool for found in select_tools(root, config, environment).values() for tool in found]
    if clean := detect_clean_command(root, environment):
        tools.append(clean)
    return [
        _command(root, tool, allowed.allows(tool), missing_program(root, tool, environment)) for tool in tools
    ]


def _command(root: Path, tool: Tool, trusted: bool, missing: str) -> TrustItem:
    name = tool.words
    effect = f"run `{name}` ({tool.check}): {tool.reason}" + (f"; ✗ {missing}" if missing else "")
    recipe = tool.recipe.encode("utf-8", "surrogateescape")
    changes = _changes(name, Trust(root).kept(name), recipe) if recipe else ""
    return TrustItem("command", name, (effect,), trusted, changes, content=recipe, tool=tool)


def _repository(root: Path) -> list[TrustItem]:
    if not (root / ".git").exists():
        return []
    from tideate_core.mcp.servers import repository_programs  # here, because the MCP SDK is slow to import

    brought = repository_programs(root)
    if brought is None:
        return []
    effects = tuple(f"run the {words}" for words in brought.labels())
    content = brought.contents().encode("utf-8", "surrogateescape")
    changes = _changes("git", Trust(root).kept("git"), content)
    return [
        TrustItem("repository", "git", effects, brought.trusted, changes, content=content, brought=brought)
    ]
