"""Secrets planted in every place that a text for a model comes from: none is in a request, nor changes one.

Two projects differ only in their secrets. The same calls of tools, the same mentions and the same prompts are
sent in both. No request holds a secret or a part of one, in any usual encoding, and what the tools answer is
the same in both projects.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re
import string
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from mcp import Client

from tests.engine.conftest import Bench
from tests.engine.steps.test_tool import Tools, use
from tests.support.model_server import ModelServer, events
from tideate_core.mcp.client import Tool, ToolResult
from tideate_core.mcp.servers.filesystem.server import filesystem_server
from tideate_core.mcp.servers.git.server import git_server
from tideate_core.workflows import (
    BufferContext,
    Cursor,
    Decision,
    DiagnosticContext,
    RunContext,
    WorkflowDefinition,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

EXAMPLES: Final = settings().max_examples // 10 if settings.get_current_profile_name() == "fuzz" else 4
"""Of each of four pairs of projects: `make fuzz` tries 2,000 in all."""
pytestmark = [pytest.mark.attack, pytest.mark.slow]

PART: Final = 8
"""Characters of a secret that are a leak."""
LETTERS: Final = string.ascii_letters + string.digits
UPPER: Final = string.ascii_uppercase + string.digits


@dataclass
class Secrets:
    """Secrets of one project, as they are planted; each has a part that is random."""

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
        """Return a token on one line, of a kind by chance."""
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
        """Return a token that can be in a path or a branch."""
        return "AKIA" + self._part(UPPER, 16)

    def key(self) -> str:
        """Return a private key of some lines."""
        lines = "\n".join(self._part(LETTERS, 64) for _ in range(5))
        return f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{lines}\n-----END RSA {'PRIVATE'} KEY-----"

    def variable(self) -> str:
        return f"DB_PASSWORD={self._part(LETTERS, self._random.randint(12, 20))}"

    def plain(self) -> str:
        """Return a secret that is known by its file's name only."""
        return self._part(LETTERS, 20)

    def leaks_in(self, text: str) -> set[str]:
        """Return the pieces of secrets that are in a text, as they are or encoded."""
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


class OurServers(Tools):
    """Tideate's own servers, and another one whose every word is a secret."""

    def __init__(self, root: Path, secrets: Secrets) -> None:
        super().__init__()
        self._servers = {"filesystem": filesystem_server(root), "git": git_server(root)}
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
        from tideate_core.errors import ToolFailed

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


PATHS: Final = (
    *("settings.py", "notes.md", "app.cfg", "docs/plain.txt", ".env", "id_rsa", "conf/credentials.json"),
    *("moved.txt", "old.env", "AGENTS.md", "new.py", ".", "docs", "nothing.py", ".git/config", "../x"),
)
PATTERNS: Final = (
    *(
        "DEBUG",
        "KEY",
        "AKIA",
        "AKIA7",
        "AKIA.{3}[A-M]",
        "ghp_7",
        "DB_PASSWORD=7[a-m]",
        "BEGIN",
        "^$",
        ".",
        "words",
    ),
    *(
        r"DEBUG(?=[\s\S]*AKIA7[A-M])",
        r"DEBUG(?![\s\S]*DB_PASSWORD=7[a-m])",
        r"\Z",
        r"(?<=7)\w",
        "9'$",
        "[A-Z0-9]{20}",
    ),
)
REVISIONS: Final = (
    "HEAD",
    "HEAD~1",
    "HEAD~2",
    "main",
    "v2",
    "stash",
    "HEAD^{/Use}",
    "HEAD^{/[A-M]}",
    "@{1}",
)
path, pattern, revision = map(st.sampled_from, (PATHS, PATTERNS, REVISIONS))
number = st.integers(1, 14)
text = st.sampled_from(("DEBUG", "KEY = '", "AKIA7", "DB_PASSWORD=7", "Last words.", "token", "PLAIN="))


def call(tool: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.fixed_dictionaries({}, optional=arguments).map(lambda given: (tool, given))


def called(tool: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.fixed_dictionaries(arguments).map(lambda given: (tool, given))


def edits(name: str, old: str, new: str) -> st.SearchStrategy[Any]:
    return st.lists(st.fixed_dictionaries({old: text, new: st.just("x")}), min_size=1, max_size=2)


CALLS: Final = st.one_of(
    called("read_file", path=path),
    called("read_file", path=path, first=number, last=number),
    called("read_file", path=path, ranges=st.lists(st.lists(number, min_size=2, max_size=2), max_size=3)),
    call("list_files", path=path),
    called(
        "find_files", glob=st.sampled_from(("*", "AKIA*", "AKIA7[A-M]*", "**/*.txt", "*.env", "AKIA7*.txt"))
    ),
    called("search", pattern=pattern, context=st.integers(0, 3), ignore_case=st.booleans()),
    called(
        "search", pattern=pattern, glob=st.sampled_from(("*.py", "AKIA7[A-M]*", "**/*", ".env")), limit=number
    ),
    called("search", pattern=text, literal=st.just(True), word=st.booleans()),
    called("outline", path=path),
    called("find_symbol", name=st.sampled_from(("DEBUG", "KEY", "K", "f1", "DB_PASSWORD", "AKIA7"))),
    called("edit_file", path=path, edits=edits("edits", "search", "replace")),
    called("write_file", path=path, text=st.just("x\n")),
    called("move_file", path=path, to=st.sampled_from(("there.txt", "docs/there.py"))),
    called("delete_file", path=path),
    called("open_skill", name=st.sampled_from(("deploy", "other"))),
    call("git_status"),
    call("git_diff", path=path, revision=revision),
    called("git_diff", revision=st.sampled_from(("HEAD~1..HEAD", "HEAD~2...main", "HEAD~2..HEAD~1"))),
    call("git_log", path=path, revision=revision, count=number),
    called("git_show", revision=revision | st.just("refs/notes/commits")),
    called("git_show", revision=revision, path=path, first=number),
    called("git_blame", path=path, first=number, last=number),
    call("filesystem__read_text_file", path=path, head=number),
    called("filesystem__read_text_file", path=path, tail=number),
    called("filesystem__read_media_file", path=path),
    called("filesystem__read_multiple_files", paths=st.lists(path, min_size=1, max_size=4)),
    call("filesystem__list_directory", path=path),
    call("filesystem__list_directory_with_sizes", sort_by=st.sampled_from(("name", "size"))),
    call("filesystem__directory_tree", path=path),
    called("filesystem__search_files", pattern=st.sampled_from(("**", "AKIA7[A-M]*", "**/*.env"))),
    called("filesystem__search_text", text=text),
    called("filesystem__get_file_info", path=path),
    called(
        "filesystem__edit_file",
        path=path,
        edits=edits("edits", "old_text", "new_text"),
        dry_run=st.just(True),
    ),
    called("filesystem__move_file", source=path, destination=path),
    call("git__git_status", untracked=st.sampled_from(("no", "normal", "all"))),
    call("git__git_diff", target=revision, paths=st.lists(path, max_size=2), context_lines=st.integers(0, 5)),
    call("git__git_diff_staged", context_lines=st.integers(0, 5)),
    call("git__git_diff_unstaged", paths=st.lists(path, max_size=2)),
    call("git__git_log", path=path, revision=revision, max_count=number),
    call("git__git_show", revision=revision, paths=st.lists(path, max_size=2)),
    call("git__git_branch", branch_type=st.sampled_from(("local", "remote", "all"))),
    call("other__tell", kind=st.sampled_from(("text", "value", "json", "long", "none"))),
    called("read_result", call=number),
)
MENTIONS: Final = (
    *("", "@diff", "@tree", "@symbols", "@buffer", "@selection", "@diagnostics", "@file:settings.py"),
    *("@file:.env", "@file:notes.md:7-8", "@file:notes.md#End", "@diff:settings.py", "@file:docs/plain.txt"),
)
WORKFLOWS: Final = ("look", "look", "look", "told", "ask", "summarize", "generate")
LOOK: Final = {
    "name": "look",
    "steps": [
        {
            "id": "a",
            "task": "Look at {{ prompt }}",
            "tools": ["look", "edits", "filesystem/*", "git/*", "other/*"],
        }
    ],
}
TOLD: Final = {
    "name": "told",
    "steps": [
        {"id": "read", "tool": {"server": "other", "name": "tell", "arguments": {"kind": "value"}}},
        {
            "id": "a",
            "dependencies": ["read"],
            "task": "Look at {{ prompt }} and {{ steps.read.result }}",
            "tools": ["look", "other/*"],
        },
    ],
}


class Planted:
    """A project with secrets, and what runs in it. Nobody's yes is a person's."""

    def __init__(self, root: Path, server: ModelServer, secrets: Secrets) -> None:
        self.secrets = secrets
        root.mkdir()
        plant(root, self.secrets)
        self.server = server
        self.bench = Bench(root, server, tools=True)
        self.bench.front.answer = lambda _: Decision(True, by="policy")
        for flow in (LOOK, TOLD):
            self.bench.registry.register(WorkflowDefinition.model_validate(flow), {})
        self._diagnosed = DiagnosticContext(
            line=3, column=1, severity="error", message=f"bad {self.secrets.token()}"
        )
        (root / ".git" / "info" / "exclude").write_text(".tideate\n")
        use(self.bench, OurServers(root, self.secrets))

    async def requests(
        self, workflow: str, mention: str, calls: list[tuple[str, dict[str, Any]]]
    ) -> list[Any]:
        """Run a workflow whose model makes these calls; return what the server received."""
        before = len(self.server.requests)
        wanted = [
            {
                "index": at,
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for at, (name, arguments) in enumerate(calls)
        ]
        if wanted and workflow != "summarize":
            self.server.sends("", events({"tool_calls": wanted}, finish_reason="tool_calls"), times=1)
        self.server.answers("", "```\nnothing\n```")
        text = (self.bench.root / "settings.py").read_text()
        context = RunContext(
            cwd=str(self.bench.root),
            buffer=BufferContext(path=str(self.bench.root / "settings.py"), text=text.removesuffix("\n")),
            cursor=Cursor(line=4, column=1),
            diagnostics=(self._diagnosed,),
        )
        await self.bench.run(workflow, f"what is this? {mention}", context=context)
        self.server.forgets("")
        return self.server.requests[before:]


_VARYING: Final = re.compile(r"\b[0-9a-f]{7,64}\b|\d{4}-\d\d-\d\dT[\d:.+Z-]+|\b\d+-(?=[0-9a-f]{16})")
"""Ids of commits, times and states of files: these depend on all that is in a project."""


def answers(requests: list[Any], root: Path) -> list[str]:
    """Return the results of tools in the last of some requests, without what has to be another."""
    results = [one for one in requests[-1]["messages"] if one["role"] == "tool"]
    return [_VARYING.sub("~", str(one["content"]).replace(str(root), "ROOT")) for one in results]


@pytest.fixture
async def projects(tmp_path: Path, variant: int) -> AsyncIterator[list[Planted]]:
    """Two projects that differ in their secrets."""
    with ModelServer() as first, ModelServer() as second:
        made = [
            Planted(tmp_path / name, server, Secrets(variant, f"{variant}{name}"))
            for name, server in (("a", first), ("b", second))
        ]
        yield made
        for one in made:
            await one.bench.aclose()


@pytest.mark.parametrize("variant", range(4))
@settings(
    max_examples=EXAMPLES,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # to shrink takes many minutes
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(
    workflow=st.sampled_from(WORKFLOWS),
    mention=st.sampled_from(MENTIONS),
    calls=st.lists(CALLS, min_size=1, max_size=5),
)
async def test_no_secret_reaches_a_model(
    projects: list[Planted], workflow: str, mention: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    told = []
    for project in projects:
        requests = await project.requests(workflow, mention, calls)
        assert requests, "the model was asked"
        assert project.secrets.leaks_in(json.dumps(requests, ensure_ascii=False)) == set()
        told.append(answers(requests, project.bench.root))
    if workflow != "told":
        assert told[0] == told[1]
