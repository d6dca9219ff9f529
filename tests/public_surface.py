"""The public surface: names that users and other tools hold on to, as plain data.

`python -m tests.public_surface --write` records it in `public_surface.json`; the test compares with that.
Wording (help, descriptions, titles) is not part of it, nor is the place of any module.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import importlib.metadata
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from tests.harness.editor import INHERITED, REPOSITORY, find_nvim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cyclopts import App, Argument
    from mcp.server.mcpserver import MCPServer

__all__ = ["RECORD", "SECTIONS", "recorded", "rendered"]

RECORD: Final = Path(__file__).with_suffix(".json")
WIDTH: Final = 110

PACKAGES: Final = {
    "tideate_core.machines": "StateMachine StateTransition WorkflowFSM WorkflowState WorkflowEvent "
    "ExecutionMachine ExecutionState",
    "tideate_core.machines.language": "Lexer Parser Workflow Obfuscator",
    "tideate_core.workflows": "WorkflowDefinition WorkflowStep WorkflowParser WorkflowRegistry",
    "tideate_core.engine": "WorkflowRunner TaskExecutor TaskQueue CheckpointManager StateManager "
    "WorkflowOrchestrator WorkflowHooks WorkflowResult",
    "tideate_core.gates": "GateEnforcer GateResult GateStats DocumentValidator VerificationPipeline "
    "VerificationReport SelfCorrectionLoop",
    "tideate_core.mentions": "ContextResolver ContextItem",
    "tideate_core.snapshots": "SnapshotManager Snapshot FileDiff",
    "tideate_core.workspace": "Workspace",
    "tideate_core.errors": "ContextResolutionError",
    "tideate_core.adapters": "Adapter",
    "tideate_core.mcp": "MCPClient",
}
"""What the design promises to Python programs: names by the package that they are imported from."""
RESERVED: Final = ["logs", "retry", "review"]
"""Names that no workflow may take, beside those that completion offers."""
WORDING: Final = frozenset({"$comment", "$defs", "description", "examples", "title"})
OF_NAMES: Final = frozenset({"properties", "patternProperties"})
UNORDERED: Final = frozenset({"enum", "required"})
"""Keywords of JSON Schema: no structure, a mapping of names that a person chose, a list in any order."""
MACHINE: Final = "* to one:\n  Work.\none to *\n"


# the only places that know where something is


def _app() -> App:
    from tideate_core.cli.main import app

    return app


def _servers(root: Path) -> dict[str, MCPServer[Any]]:
    from tideate_core.machines.language import Workflow, parse
    from tideate_core.mcp.servers import SERVERS, make_server, transitions_server

    machine = Workflow(parse(MACHINE).definition)
    return {**{name: make_server(name, root) for name in SERVERS}, "transitions": transitions_server(machine)}


def _events() -> list[str]:
    from tideate_core.engine import EventName

    return sorted(EventName)


def _configuration() -> dict[str, Any]:
    from tideate_core.config import Config

    return Config.model_json_schema()


def _exit_status_of(error: type[BaseException]) -> int:
    from tideate_core.cli.process import status_of

    return status_of(error.__new__(error))  # type: ignore[arg-type]


def _exit_statuses() -> dict[str, int]:
    from tideate_core.cli import process

    return {name: value for name, value in vars(process).items() if name.isupper() and type(value) is int}


def _errors() -> list[type[BaseException]]:
    from tideate_core import errors

    found = [one for one in vars(errors).values() if inspect.isclass(one)]
    return [one for one in found if issubclass(one, errors.TideateError)]


def _load_packages() -> None:
    from tideate_core.workflows import WorkflowRegistry

    WorkflowRegistry().load_packages()


# sections, each a mapping of names


def _lua() -> dict[str, Any]:
    """Return the commands, functions and mappings of a real Neovim with the plugin."""
    with tempfile.TemporaryDirectory(prefix="tideate-surface-") as home:
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | {
            "HOME": home,
            "TIDEATE_REPOSITORY": str(REPOSITORY),
            "TIDEATE_CANDIDATES": json.dumps(RESERVED),
            "TIDEATE_EVENTS": json.dumps(_events()),
        }
        done = subprocess.run(
            [find_nvim(), "--clean", "--headless", "-l", str(Path(__file__).with_suffix(".lua"))],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    surface: dict[str, Any] = json.loads(done.stdout)
    return {name: _sorted_names(part) for name, part in surface.items()}


def _sorted_names(part: Any) -> Any:
    return sorted(set(part)) if isinstance(part, list) else part


def _command_line() -> dict[str, Any]:
    app = _app()
    return {" ".join(("tideate", *path)): _arguments(app, path) for path in _paths(app, ())}


def _paths(app: App, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield every command; options that end the program, such as `--version`, only for `tideate` itself."""
    yield path
    for name in app:
        if not name.startswith("-"):
            yield from _paths(app[name], (*path, name))
        elif not path:
            yield (name,)


def _arguments(app: App, path: tuple[str, ...]) -> dict[str, Any]:
    command = functools.reduce(lambda above, name: above[name], path, app)
    if command.default_command is None or path[-1].startswith("-"):
        return {}
    with app.app_stack(path):
        return dict(_argument(one, at) for at, one in enumerate(command.assemble_argument_collection(), 1))


def _argument(argument: Argument, place: int) -> tuple[str, dict[str, Any]]:
    """Return an option's names, or a positional argument's place, and all that a call depends on."""
    info, (kind, repeated) = argument.field_info, _kind(argument.hint)
    choices = argument.get_choices(force=True)
    described = {
        "type": "choice" if choices else kind,
        "choices": sorted(choices or ()) or None,
        "repeated": repeated or None,
        "required": info.required or None,
        "default": None if info.default in (inspect.Parameter.empty, (), []) else info.default,
        "hidden": None if argument.show else True,
    }
    positional = info.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    key = f"argument {place}" if positional else " ".join(argument.names)
    return key, {name: value for name, value in described.items() if value is not None}


def _kind(hint: Any) -> tuple[str, bool]:
    """Return the kind of value that a type takes on the command line, and whether it takes several."""
    parts = [part for part in typing.get_args(hint) if part not in (type(None), ...)]
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType) and len(parts) == 1:
        return _kind(parts[0])
    if origin in (tuple, list):
        return _kind(parts[0])[0], True
    return {bool: "flag", int: "integer", float: "number"}.get(hint, "text"), False


def _configuration_keys() -> dict[str, Any]:
    return dict(_flattened(_bare(_configuration()), ""))


def _flattened(schema: dict[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    for name, inner in schema.get("properties", {}).items():
        yield from _flattened(inner, f"{key}.{name}".lstrip("."))
    more = schema.get("additionalProperties")
    if isinstance(more, dict) and "properties" in more:
        yield from _flattened(more, f"{key}.*")
    elif "properties" not in schema:
        yield key, schema


def _schemas() -> dict[str, Any]:
    """Return the output of `tideate schema` for each of its names."""
    names = _app()["schema"].assemble_argument_collection()[0].get_choices(force=True) or ()
    with tempfile.TemporaryDirectory(prefix="tideate-surface-") as directory:
        return {name: _bare(_printed_schema(name, Path(directory, name))) for name in names}


def _printed_schema(name: str, out: Path) -> dict[str, Any]:
    with contextlib.redirect_stderr(io.StringIO()):
        status = _app()(["schema", name, "--output", str(out)], result_action="return_value")
    assert status == 0
    schema: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return schema


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema without its wording, its definitions put where they are used."""
    bare: dict[str, Any] = _inlined(schema, schema, ())
    return bare


def _inlined(value: Any, schema: dict[str, Any], inside: tuple[str, ...], *, names: bool = False) -> Any:
    if isinstance(value, list):
        return [_inlined(one, schema, inside) for one in value]
    if not isinstance(value, dict):
        return value
    reference = None if names else value.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        if reference in inside:
            return {"recursive": len(inside) - inside.index(reference)}
        found = schema["$defs"][reference.removeprefix("#/$defs/")]
        value = {**found, **{name: inner for name, inner in value.items() if name != "$ref"}}
        inside = (*inside, reference)
    return {
        name: sorted(inner)
        if name in UNORDERED and not names
        else _inlined(inner, schema, inside, names=not names and name in OF_NAMES)
        for name, inner in value.items()
        if names or name not in WORDING
    }


def _mcp() -> dict[str, Any]:
    """Return the tools, resources and prompts of every server."""
    with tempfile.TemporaryDirectory(prefix="tideate-surface-") as directory:
        root = Path(directory).resolve()
        subprocess.run(["git", "init", "-q", str(root)], check=True, stdin=subprocess.DEVNULL)
        return {name: asyncio.run(_offered(server)) for name, server in _servers(root).items()}


async def _offered(server: MCPServer[Any]) -> dict[str, Any]:
    tools = {tool.name: _bare(tool.input_schema) for tool in await server.list_tools()}
    resources = [str(one.uri) for one in await server.list_resources()]
    templates = [one.uri_template for one in await server.list_resource_templates()]
    prompts = {
        prompt.name: sorted(argument.name for argument in prompt.arguments or ())
        for prompt in await server.list_prompts()
    }
    return {"tools": tools, "resources": sorted([*resources, *templates]), "prompts": prompts}


def _wire() -> dict[str, Any]:
    """Return the events, the errors with the exit status they give a command, and the exit statuses."""
    return {
        "events": _events(),
        "exit_statuses": _exit_statuses(),
        "error_codes": {error.__name__: _exit_status_of(error) for error in _errors()},
    }


def _distribution() -> dict[str, Any]:
    """Return the installed commands, extras, and groups of entry points."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "commands": sorted(project["scripts"]),
        "extras": sorted(project["optional-dependencies"]),
        "offered_entry_points": sorted(project.get("entry-points", ())),
        "read_entry_point_groups": _entry_point_groups(),
        "environment": _environment_variables(),
    }


def _entry_point_groups() -> list[str]:
    asked: list[str] = []

    def entry_points(*, group: str) -> tuple[()]:
        asked.append(group)
        return ()

    with mock.patch.object(importlib.metadata, "entry_points", entry_points):
        _load_packages()
    return sorted(set(asked))


def _environment_variables() -> list[str]:
    folders = [REPOSITORY / name for name in ("tideate_core", "lua", "plugin", "rplugin")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".lua")]
    pattern = re.compile(r"\bTIDEATE_[A-Z_]+\b")
    return sorted({name for path in files for name in pattern.findall(path.read_text(encoding="utf-8"))})


def _python() -> dict[str, list[str]]:
    """Return the promised names that can be imported."""
    return {
        package: sorted(name for name in names.split() if hasattr(importlib.import_module(package), name))
        for package, names in PACKAGES.items()
    }


SECTIONS: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "command_line": _command_line,
    "configuration": _configuration_keys,
    "distribution": _distribution,
    "json_schemas": _schemas,
    "lua": _lua,
    "mcp": _mcp,
    "python": _python,
    "wire": _wire,
}


def recorded() -> dict[str, Any]:
    """Return the surface as it was recorded."""
    surface: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return surface


def rendered(value: Any, indent: int = 0) -> str:
    """Return JSON with sorted keys: an item to a line where it fits, for readable differences."""
    flat = json.dumps(value, sort_keys=True, ensure_ascii=False)
    nested = isinstance(value, dict) and any(isinstance(inner, dict) for inner in value.values())
    if not isinstance(value, dict | list) or not value or (not nested and len(flat) + indent <= WIDTH):
        return flat
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        pairs = sorted(value.items())
        lines = [f"{inner}{json.dumps(name)}: {rendered(item, indent + 1)}" for name, item in pairs]
    else:
        lines = [f"{inner}{rendered(item, indent + 1)}" for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{' ' * indent}{closing}"


def main(words: list[str]) -> int:
    """Print the surface, or record it."""
    text = rendered({name: section() for name, section in SECTIONS.items()}) + "\n"
    if words == ["--write"]:
        RECORD.write_text(text, encoding="utf-8")
    elif words:
        sys.exit("usage: python -m tests.public_surface [--write]")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
