"""`tideate agents`: list and show agents, copy a built-in agent to the project."""

from __future__ import annotations

from json import dumps as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from rich.text import Text

from tideate_core.app import eject_role, locate_project, role_json, role_names, role_origin, tool_mistakes
from tideate_core.cli.arguments import Json, Root
from tideate_core.cli.process import DONE, USAGE
from tideate_core.cli.render.output import (
    note,
    print_json,
    print_message,
    print_text,
    report_errors,
)
from tideate_core.cli.render.tables import facts, page, table
from tideate_core.cli.render.words import lasted
from tideate_core.errors import ConfigError, InvalidDefinition, UnknownAgent
from tideate_core.project import find_root
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from tideate_core.agents import Role

app = App(name="agents")


def _complete(context: CompletionContext) -> list[str]:
    """Complete agent names."""
    return role_names(find_root(Path.cwd()))


Name = Annotated[str, Parameter(help="An agent, see `tideate agents`.", completer=_complete)]


@app.default
@report_errors
def list_agents(*, json: Json = False, root: Root = None) -> int:
    """List the agents: their origin, model adapter and budgets."""
    found = locate_project(root)
    known, problems = _read_all(found)
    if json:
        listed = [role_json(role, found) for role in known]
        print_json({"ok": not problems, "agents": listed, "problems": problems})
        return USAGE if problems else DONE
    numbers = ("tokens", "timeout")
    rows = table("agent", "from", "adapter", *numbers, "description", right=numbers)
    for role in known:
        rows.add_row(
            role.name,
            Text(", ".join(role_origin(role, found))),
            Text(visible(role.adapter or "the run's adapter"), style="" if role.adapter else "dim"),
            f"{role.tokens:,}" if role.tokens else "any",
            lasted(role.timeout) or "any",
            Text(visible(role.description)),
        )
    page().print(rows)
    for role in known:
        _print_notices(role)
    for problem in problems:
        note(problem)
    return USAGE if problems else DONE


def _read_all(root: Path | None) -> tuple[list[Role], list[str]]:
    """Return the valid agents, and messages about mistakes."""
    from tideate_core.agents import Roles

    known, problems, roles = [], [], Roles(root)
    names = role_names(root)
    for name in names:
        try:
            known.append(roles.get(name))
        except InvalidDefinition as error:
            problems.append(str(error))
    for role in known:
        unknown = [UnknownAgent(one, names) for one in role.agents if one not in names]
        problems += [f"the agent {role.name!r}: {error}" for error in unknown]
        problems += [f"the agent {role.name!r}: {error}" for error in tool_mistakes(role.tools, root)]
    return known, problems


@app.command
@report_errors
def show(name: Name, /, *, json: Json = False, root: Root = None) -> int:
    """Show an agent: its settings and its instructions."""
    from tideate_core.agents import Roles

    found = locate_project(root)
    role = Roles(found).get(name)
    if json:
        print_json({"ok": True, **role_json(role, found), "instructions": role.instructions})
        return DONE
    facts(
        {
            "agent": role.name,
            "from": ", ".join(role_origin(role, found)),
            "file": label(role.path) if role.path else "",
            "adapter": role.adapter or "the run's adapter",
            "tools": ", ".join(role.tools),
            "asks": ", ".join(role.agents),
            "answers": json_text(role.output_schema, ensure_ascii=False) if role.output_schema else "",
            "tokens": f"{role.tokens:,} a stage" if role.tokens else "",
            "timeout": f"{lasted(role.timeout)} a stage" if role.timeout else "",
        }
    )
    _print_notices(role)
    print_text(f"\n{role.instructions}")
    return DONE


@app.command
@report_errors
def eject(name: Name, /, *, root: Root = None) -> int:
    """Copy a built-in agent to .tideate/agents/NAME.md, to change it there.

    An existing file is never overwritten.
    """
    found = locate_project(root)
    if found is None:
        raise ConfigError("no project here; name one with --root")
    path = eject_role(found, name)
    print_text(str(path))
    words = (
        "its instructions apply from now on, other ones of the assistant after `tideate trust`, and so do "
        "settings above them that send code elsewhere, use tools or agents, or spend more"
    )
    print_message(words, "dim")
    return DONE


def _print_notices(role: Role) -> None:
    for notice in role.notices:
        note(notice)
