"""A project with secrets in every source of model input."""

from __future__ import annotations

import base64
import json
import os
import random
import string
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mcp import Client

from tests.engine.steps.test_tool import Tools
from tests.harness.buffers import Buffers
from tideate_core.errors import ToolFailed
from tideate_core.machines.language import Workflow, parse
from tideate_core.mcp.client import Tool, ToolResult
from tideate_core.mcp.servers.registry import SERVERS, make_server
from tideate_core.mcp.servers.transitions.server import transitions_server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PART: Final = 8
"""Characters of a secret that are a leak."""
LETTERS: Final = string.ascii_letters + string.digits
UPPER: Final = string.ascii_uppercase + string.digits


@dataclass
class Secrets:
    """Secrets to plant in one project; each has a random part."""

    kinds: int
    """Seed of their kinds, which are the same in both projects."""
    seed: str
    parts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random, self._kinds = random.Random(self.seed), random.Random(self.kinds)

    def _part(self, letters: str, length: int) -> str:
        # digits at both ends: some shapes want one
        part = f"7{''.join(self._random.choices(letters, k=length - 2))}9"
        self.parts.append(part)
        return part

    def token(self) -> str:
        """Return a token on one line, of a random kind."""
        kinds = [
            lambda: "AKIA" + self._part(UPPER, 16),
            lambda: "ghp_" + self._part(LETTERS, 36),
            lambda: "sk-" + self._part(LETTERS, self._random.randint(36, 60)),
            lambda: "glpat-" + self._part(LETTERS, self._random.randint(20, 40)),
            lambda: f"postgres://app:{self._part(LETTERS, 14)}@db/x",
            lambda: "xoxb-" + self._part(LETTERS, 20),
        ]
        return self._kinds.choice(kinds)()

    def name(self) -> str:
        """Return a token that fits in a path or branch name."""
        return "AKIA" + self._part(UPPER, 16)

    def key(self) -> str:
        """Return a private key of some lines."""
        lines = "\n".join(self._part(LETTERS, 64) for _ in range(5))
        return f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{lines}\n-----END RSA {'PRIVATE'} KEY-----"

    def variable(self) -> str:
        return f"DB_PASSWORD={self._part(LETTERS, self._random.randint(12, 20))}"

    def plain(self) -> str:
        """Return a secret that only its file name reveals."""
        return self._part(LETTERS, 20)

    def leaks_in(self, text: str) -> set[str]:
        """Return the parts of secrets found in a text, plain or encoded."""
        return self._pieces & {text[at : at + PART] for at in range(len(text) - PART + 1)}

    @cached_property
    def _pieces(self) -> set[str]:
        forms = {form for part in self.parts for form in _forms(part)}
        return {form[at : at + PART] for form in forms for at in range(len(form) - PART + 1)}


def _forms(part: str) -> list[str]:
    data = part.encode()
    shifted = [base64.b64encode(b"\0" * shift + data).decode()[4:-4] for shift in range(3)]
    return [part, part[::-1], data.hex(), data.hex().upper(), quote(part), *shifted]


def plant(root: Path, secrets: Secrets) -> None:
    """Plant secrets in files, names, the history and the state of a repository."""

    def write(name: str, text: str) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(*arguments: str) -> None:
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-02T03:04:05Z")
        subprocess.run(
            ["git", "-c", "commit.gpgsign=false", *arguments],
            cwd=root,
            check=True,
            capture_output=True,
            env={"PATH": os.environ["PATH"], "HOME": str(root), **dates},
        )

    git("init", "-q", "-b", "main")
    git("config", "user.name", f"Ada {secrets.token()}")
    git("config", "user.email", "ada@example.invalid")
    git("config", "remote.origin.url", f"https://ada:{secrets.plain()}@example.invalid/x.git")
    filler = "".join(f"def f{at}():\n    return {at}\n\n\n" for at in range(30))
    write("settings.py", f"DEBUG = True\nKEY = '{secrets.token()}'\n\n\n{filler}")
    write("notes.md", f"# Notes\n\nWords.\n\n{secrets.key()}\n\n## End\n\nLast words.\n")
    write("app.cfg", f"[app]\nname = x\n{secrets.variable()}\nlast = 1\n")
    write("docs/plain.txt", "no secret is here\nDEBUG is off\n")
    write(".env", f"PLAIN={secrets.plain()}\n")
    write("id_rsa", f"{secrets.plain()}\n")
    write("conf/credentials.json", json.dumps({"token": secrets.plain()}))
    write("old.env", "\n".join(secrets.variable() for _ in range(9)))
    write("Makefile", "lint test build clean:\n\t@cat app.cfg notes.md; exit 3\n")
    write("AGENTS.md", f"# Rules\n\nKeep it short.\n\nThe key is {secrets.token()}\n")
    write(
        ".agents/skills/deploy/SKILL.md",
        f"---\nname: deploy\ndescription: Deploys.\n---\n\n{secrets.token()}\n",
    )
    git("add", "-A", "-f")
    git("commit", "-qm", f"Add all\n\n{secrets.variable()}\n{secrets.key()}\n")
    git("mv", "old.env", "moved.txt")
    write("docs/plain.txt", f"no secret is here\nDEBUG is off\n{secrets.token()}\n")
    git("commit", "-qam", f"Use {secrets.token()} in {'x' * 270} {secrets.token()}")
    write("docs/plain.txt", "no secret is here\nDEBUG is on\n")
    git("commit", "-qam", "Take it out")
    git("tag", f"v1-{secrets.name()}")
    git("tag", "-am", f"Release {secrets.token()}", "v2")
    git("notes", "add", "-m", secrets.token())
    write("app.cfg", f"[app]\nname = y\n{secrets.variable()}\nlast = 1\n")
    git("stash", "push", "-qm", f"Stash {secrets.token()}")
    git("checkout", "-qb", f"feature/{secrets.name()}")
    write("settings.py", f"DEBUG = False\nKEY = '{secrets.token()}'\n\n\n{filler}last = 1\n")
    git("add", "settings.py")
    write("notes.md", f"# Notes\n\nOther words.\n\n{secrets.key()}\n\n## End\n\nLast words.\n")
    write(f"{secrets.name()}.txt", "DEBUG in a file whose name is a secret\n")
    write("new.py", f"K = '{secrets.token()}'\nDEBUG = 1\n")


def told_editor(root: Path, secrets: Secrets) -> Buffers:
    """Return an editor with a secret in every answer."""
    named, line = f"n {secrets.token()}", {"path": str(root / "docs/plain.txt"), "line": 1}
    uri = (root / "docs/plain.txt").as_uri()
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    edit = {"changes": {uri: [{"range": whole, "newText": f"{secrets.variable()}\n{secrets.token()}\n"}]}}
    proposal = {"client": named, "encoding": "utf-8", "edit": json.dumps(edit), "ticks": {}}
    buffer = {"filetype": named, "lines": 2, "modified": True, "visible": True, "current": True}
    symbol = {"name": named, "kind": named, "line": 1, "uri": uri, "detail": named, "container": named}
    places = [
        {"uri": (root / name).as_uri(), "line": 2} for name in ("settings.py", ".env", f"../{secrets.name()}")
    ]

    def told(result: Any) -> dict[str, Any]:
        answer = {"client": named, "busy": named, "result": result}
        return {"answers": [answer], "errors": [named, secrets.key()]}

    answers = {
        "hover": told(f"{secrets.key()}\n{secrets.variable()}"),
        "locations": told(places),
        "document_symbols": told([symbol]),
        "workspace_symbols": told([symbol]),
        "code_actions": told([{"title": named, "kind": named, "disabled": named}]),
        "code_action": {**proposal, "command": named},
        "rename": proposal,
        "diagnostics": {
            "diagnostics": [{**line, "severity": "error", "message": secrets.key(), "source": named}],
            "total": 9,
            "clients": [named],
        },
        "staged_diagnostics": {"answers": [], "errors": [named]},
        "buffers": {"buffers": [{**buffer, "path": str(root / name)} for name in ("new.py", ".env")]},
        "quickfix": {"title": named, "total": 3, "entries": [{**line, "text": secrets.variable()}]},
    }

    return Buffers(**answers)


class OurServers(Tools):
    """tideate's own servers, and another one with a secret in every text."""

    def __init__(self, root: Path, secrets: Secrets) -> None:
        super().__init__()
        self._servers = {name: make_server(name, root) for name in SERVERS}
        machine = f"* to first:\n  Take {secrets.token()}.\n\n: with {secrets.token()}\nfirst to *\n"
        self._servers["transitions"] = transitions_server(Workflow(parse(machine, "walk").require("walk")))
        self._listed: dict[str, list[Tool]] = {}
        self._answers = {
            "text": f"found {secrets.token()} there\n{secrets.variable()}",
            "value": {"rows": [{"key": secrets.token()}, secrets.key()], secrets.token(): 1},
            "json": json.dumps({"a": secrets.variable(), "b": [secrets.key()]}, indent=1),
            "long": f"{'x' * 59_989} {secrets.name()} {'y' * 100}",
        }
        self._error = f"no login with {secrets.token()}"
        self._described = f"Tells the key {secrets.token()}."

    @property
    def names(self) -> list[str]:
        return [*self._servers, "other"]

    def allows(self, tool: Tool) -> bool:
        return True

    async def tools(self, server: str) -> list[Tool]:
        if server == "other":
            schema = {
                "type": "object",
                "properties": {"kind": {"type": "string", "description": self._described}},
            }
            return [Tool("other", "tell", self._described, input_schema=schema, read_only=True)]
        if server not in self._listed:
            async with Client(self._servers[server]) as client:
                listed = (await client.list_tools()).tools
            self._listed[server] = [
                Tool(server, one.name, one.description or "", input_schema=one.input_schema, read_only=True)
                for one in listed
            ]
        return self._listed[server]

    async def tool(self, server: str, name: str) -> Tool:
        return next(one for one in await self.tools(server) if one.name == name)

    async def call(
        self, server: str, name: str, arguments: Mapping[str, Any] | None = None, **_: Any
    ) -> ToolResult:
        if server == "other":
            kind = (arguments or {}).get("kind", "")
            if kind not in self._answers:
                raise ToolFailed(f"{server}/{name}", self._error)
            return ToolResult(self._answers[kind])
        async with Client(self._servers[server]) as client:
            answer = await client.call_tool(name, dict(arguments or {}))
        text = "\n".join(str(one) for one in answer.content)
        if answer.is_error:
            raise ToolFailed(f"{server}/{name}", text)
        return ToolResult({"text": text, "structured": answer.structured_content})
