"""All shell commands, with arguments that make them work; new commands are included automatically."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.hostile.place import Known, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cyclopts import App

APP: Final = frozenset({"src"})
"""Files that an editing command may change."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command line."""

    words: tuple[str, ...]
    """With `{run}` and the like as placeholders for ids."""
    may_change: frozenset[str] = frozenset()
    """Names in the project that may change, with everything below them."""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Of a stdio server: tools to call with their arguments."""
    interrupt: float = 0
    """Seconds after which Ctrl-C ends it; 0 for a command that ends by itself."""

    @property
    def text(self) -> str:
        called = " ".join(name for name, _ in self.calls)
        return " ".join(self.words) + (f" ({called})" if called else "")

    def line(self, place: Place) -> list[str]:
        known = place.known
        names = {name: getattr(known, name) for name in Known.__slots__}
        paths = {"project": str(place.project), "sibling": str(place.sibling)}
        return [word.format(**names, **paths) if "{" in word else word for word in self.words]

    def talk(self) -> list[bytes] | None:
        """Return the messages for a server, or None for other commands."""
        if self.words[:2] != ("mcp", "serve"):
            return None
        shake = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        messages: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": shake},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
            *(
                {"id": at, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
                for at, (name, arguments) in enumerate(self.calls, 3)
            ),
        ]
        return [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]


RUN: Final = "{run}"
VALUES: Final[Mapping[str, str]] = {
    "checkpoint": "{checkpoint}",
    "file": "loop",
    "files": ".tideate/workflows/loop.workflow",
    "first": "@Doc",
    "name": "ask",
    "new": "{project}",
    "old": "{project}-gone",
    "path": "{project}",
    "prompt": "hello",
    "run": RUN,
    "server": "helper",
    "shell": "bash",
    "snapshot": "{snapshot}",
    "snapshots": "{snapshot}",
    "tokens": "t_0000000000",
    "tool": "run",
    "workflow": "loop",
}
"""Values for required arguments by name; the default is `x`."""

OF_GROUPS: Final[Mapping[tuple[str, str], str]] = {("agents", "name"): "planner", ("schema", "name"): "plan"}

_FORMATTED: Final = ".tideate/workflows/loop.workflow"
MORE: Final = (
    *(Command(("run", name, "hello", "--no")) for name in ("ask", "summarize", "refactor", "generate")),
    *(Command(("run", name, "hello", "--no")) for name in ("multi_file", "task", "handoff", "PLANNER")),
    *(Command(("run", name, "hello", "--yes")) for name in ("ask", "summarize", "task", "review", "loop")),
    Command(("run", "refactor", "shorten", "--file", "src/app.py", "--yes"), APP),
    Command(("run", "generate", "more", "--file", "src/app.py", "--yes"), APP),
    Command(("run", "multi_file", "split", "--yes"), APP | {"new.py"}),
    Command(("run", "handoff", "--yes"), APP | {"src/greet.py"}),
    Command(("run", "ask", "@Doc", "@tree", "@diff", "@file:README.md")),
    Command(("run", ".tideate/workflows/review.yaml", "--yes")),
    Command(("run", ".tideate/workflows/review.json", "--yes")),
    Command(("machine", "run", ".tideate/workflows/loop.workflow", "go", "--yes")),
    Command(("machine", "format", "--check", _FORMATTED)),
    Command(("machine", "export", "loop", "--obfuscate")),
    Command(("check", ".tideate/workflows/review.yaml", ".tideate/workflows/review.json")),
    Command(("graph", ".tideate/workflows/review.yaml")),
    Command(("graph", "review", "--format", "svg", "--out", ".tideate/workflows/review.svg")),
    Command(("schema", "--out", ".tideate/workflow.schema.json")),
    Command(("show", RUN, "--events", "--json")),
    Command(("resume",)),
    Command(("resume", "--yes")),
    Command(("history", "--metrics")),
    Command(("history", "--prune", "--keep", "0", "--changes", "--yes")),
    Command(("rollback",)),
    Command(("rollback", RUN, "--yes"), APP),
    Command(("rollback", "f00df00d", "--yes")),
    Command(("show", "f00df00d")),
    Command(("resume", "f00df00d", "--yes")),
    Command(("snapshot", "restore", "{snapshot}", "--yes"), APP),
    Command(("snapshot", "restore", "20260101", "--yes")),
    Command(("snapshot", "diff", "--changes")),
    Command(("context", "show", "@tree", "@diff", "@file:README.md")),
    Command(("mcp", "tools", "helper")),
    Command(("mcp", "tools", "git")),
    Command(("mcp", "call", "helper", "run", "--yes")),
    Command(("mcp", "call", "filesystem", "list_directory", "path=.", "--yes")),
    Command(("trust", "--yes")),
    Command(("trust", ".tideate/config.toml", "--yes")),
    Command(("trust", "--revoke")),
    Command(("project", "forget", "{project}", "--yes")),
)
"""Command lines besides the generated ones."""

SERVED: Final[Mapping[str, tuple[tuple[str, Mapping[str, Any]], ...]]] = {
    "git": (("git_status", {}), ("git_commit", {"message": "Say hello", "all": True})),
    "filesystem": (
        ("list_directory", {"path": "."}),
        ("read_file", {"path": ".tideate/config.toml"}),
        ("write_file", {"path": "src/app.py", "content": "x = 1\n"}),
    ),
    "test": (("test_list", {}), ("test_run", {})),
    "build": (("build_detect", {}), ("build_run", {})),
    "transitions": (("transition", {"state": "first"}),),
}
"""Tools to call on each server."""

CHANGES: Final[Mapping[tuple[str, ...], frozenset[str]]] = {
    ("bundle", "create"): frozenset({"run.tideate-bundle"}),
    ("mcp", "serve", "filesystem"): APP,
    ("mcp", "serve", "git"): frozenset({".git"}),
}
UNTIL_INTERRUPTED: Final[Mapping[tuple[str, ...], float]] = {("watch",): 3.0}
"""Commands that run until Ctrl-C, with the seconds that they get."""


def commands() -> list[Command]:
    """Return every command line."""
    from tideate_core.cli.main import app

    own = [_plain(words, signature) for words, signature in words_of_apps(app)]
    return [*own, *MORE]


def words_of_apps(
    app: App, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], inspect.Signature]]:
    """Yield the words of every command with its parameters."""
    for name in app:
        if name.startswith("-"):
            continue
        below, words = app[name], (*above, name)
        function: Callable[..., Any] | None = below.default_command
        if function is not None:
            yield words, inspect.signature(function)
        yield from words_of_apps(below, words)


def _plain(words: tuple[str, ...], signature: inspect.Signature) -> Command:
    """Return a command with its required arguments and without questions."""
    line = list(words)
    for parameter in signature.parameters.values():
        line += _given(parameter, words[0])
    if words[:2] == ("mcp", "serve"):
        line += ["--root", "{project}"]
    elif words == ("bundle", "create"):
        line += ["-o", "run.tideate-bundle"]
    elif "yes" in signature.parameters:
        line.append("--no")
    name = words[-1] if words[:2] == ("mcp", "serve") else ""
    changes = CHANGES.get(words, frozenset())
    return Command(tuple(line), changes, SERVED.get(name, ()), UNTIL_INTERRUPTED.get(words, 0))


def _given(parameter: inspect.Parameter, group: str) -> Sequence[str]:
    value = OF_GROUPS.get((group, parameter.name)) or VALUES.get(parameter.name, "x")
    if parameter.default is not parameter.empty:
        return ()
    if parameter.name == "options":  # of `submit` and `schedule create`
        return ("--repo", "x")
    if parameter.kind is parameter.KEYWORD_ONLY:
        return (f"--{parameter.name.replace('_', '-')}", value)
    needed = parameter.kind is not parameter.VAR_POSITIONAL or parameter.name in VALUES
    return (value,) if needed else ()
