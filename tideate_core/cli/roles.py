"""The commands of `tideate agents`: list, show, eject."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.agents import BUILTIN_ROLES, LARGEST_ROLE, Roles
from tideate_core.cli.exits import DONE, status_of
from tideate_core.cli.output import fail, label, messages, print_json, print_text, tell, visible
from tideate_core.cli.runs import lasted, page, table
from tideate_core.cli.wiring import locate
from tideate_core.errors import ConfigError, TideateError, UnusableFile, WorkspaceError
from tideate_core.project import config_dir, read_document, write_document

if TYPE_CHECKING:
    from pathlib import Path

from tideate_core.agents import Role

__all__ = ["eject", "list_roles", "names", "show"]

IN_ORDER = ("planner", "auditor", "executor", "documenter", "corrector")
"""As a task asks them."""


def names() -> list[str]:
    """Return the names of all roles, in the order in which a task asks them."""
    known = {path.stem for path in BUILTIN_ROLES.glob("*.md")}
    return [*(name for name in IN_ORDER if name in known), *sorted(known.difference(IN_ORDER))]


def list_roles(root: str | None, *, as_json: bool) -> int:
    """Print all roles; returns the exit status."""
    try:
        found = locate(root)
        known = [Roles(found).get(name) for name in names()]
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    if as_json:
        print_json({"ok": True, "agents": [_shape(role, found) for role in known]})
        return DONE
    numbers = ("tokens", "timeout")
    rows = table("agent", "from", "answered by", *numbers, "what it does", right=numbers)
    for role in known:
        rows.add_row(
            role.name,
            Text(", ".join(_origin(role, found))),
            Text(visible(role.adapter or "the run's adapter"), style="" if role.adapter else "dim"),
            f"{role.tokens:,}" if role.tokens else "any",
            lasted(role.timeout) or "any",
            Text(visible(role.description)),
        )
    page().print(rows)
    for role in known:
        _tell_notices(role)
    return DONE


def show(name: str, root: str | None, *, as_json: bool) -> int:
    """Print one role as it counts; returns the exit status."""
    try:
        found = locate(root)
        role = Roles(found).get(name)
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    if as_json:
        print_json({"ok": True, **_shape(role, found), "instructions": role.instructions})
        return DONE
    facts = {
        "agent": role.name,
        "from": ", ".join(_origin(role, found)),
        "words": label(role.path) if role.path else "",
        "answered by": visible(role.adapter or "the run's adapter"),
        "tools": ", ".join(map(visible, role.tools)),
        "tokens": f"{role.tokens:,} a stage" if role.tokens else "",
        "timeout": f"{lasted(role.timeout)} a stage" if role.timeout else "",
    }
    for key, value in facts.items():
        if value:
            page().print(Text.assemble((f"{key:<12}", "dim"), value), soft_wrap=True)
    _tell_notices(role)
    print_text(f"\n{role.instructions}")
    return DONE


def eject(name: str, root: str | None) -> int:
    """Write a role's built-in file where the project's is read; returns the exit status."""
    try:
        found = locate(root)
        if found is None:
            raise ConfigError("there is no project here; name one with --root")
        Roles(None).get(name)  # or says which are known
        path = _write(found, name)
    except TideateError as error:
        fail(error)
        return status_of(error)
    print_text(str(path))
    words = (
        "its words count from now on; keys above them that send code elsewhere, use tools or spend more "
        "count once you ran `tideate trust`"
    )
    tell(messages(), Text(words, style="dim"))
    return DONE


def _write(root: Path, name: str) -> Path:
    document = f".tideate/agents/{name}.md"
    content = (BUILTIN_ROLES / f"{name}.md").read_bytes()
    try:
        return write_document(root, document, content, replace=False)
    except FileExistsError as error:
        raise WorkspaceError(f"{root / document} is there already; it was left as it is") from error
    except UnusableFile as error:
        raise WorkspaceError(str(error)) from error


def _origin(role: Role, root: Path | None) -> list[str]:
    """Return which files a role is made of, the last of them counting most."""
    found = ["built-in"]
    if (config_dir() / "agents" / f"{role.name}.md").is_file():
        found.append("yours")
    if root is not None:
        with suppress(FileNotFoundError, UnusableFile):
            read_document(root, f".tideate/agents/{role.name}.md", LARGEST_ROLE)
            found.append("the project's")
    return found


def _tell_notices(role: Role) -> None:
    for notice in role.notices:
        tell(messages(), Text(f"note: {visible(notice)}", style="yellow"))


def _shape(role: Role, root: Path | None) -> dict[str, Any]:
    return {
        "name": role.name,
        "description": role.description,
        "from": _origin(role, root),
        "path": str(role.path) if role.path else None,
        "adapter": role.adapter,
        "tools": list(role.tools),
        "tokens": role.tokens,
        "timeout_ms": role.timeout,
        "notices": list(role.notices),
    }
