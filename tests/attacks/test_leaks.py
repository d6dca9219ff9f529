"""Secrets in every source of model input: none is in a request, nor changes one.

Two projects differ only in their secrets. The same calls of tools, the same mentions and the same prompts are
sent in both. No request holds a secret or a part of one, in any usual encoding, and what the tools answer is
the same in both projects.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from tests.attacks.planted import OurServers, Secrets, plant, told_editor
from tests.engine.steps.test_tool import use
from tests.harness.bench import Bench
from tests.harness.model_server import ModelServer, events
from tideate_core.agents.tools.table import GROUPS, tools_named
from tideate_core.builtin import register_builtin
from tideate_core.config import VerifyConfig
from tideate_core.mcp.servers.registry import SERVERS
from tideate_core.mentions.extraction import BUILT_IN
from tideate_core.toolchain import ProjectTrust, detect_clean_command, select_tools
from tideate_core.workflows import (
    BufferContext,
    Cursor,
    Decision,
    DiagnosticContext,
    RunContext,
    Selection,
    WorkflowDefinition,
    WorkflowRegistry,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

EXAMPLES: Final = settings().max_examples // 10 if settings.get_current_profile_name() == "fuzz" else 4
"""Examples for each of four pairs of projects; `make fuzz` tries 2,000 in all."""
pytestmark = [pytest.mark.attack, pytest.mark.slow]

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


TRIED: Final[set[str]] = set()
"""Names of the tools in CALLS."""


def call(tool: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    TRIED.add(tool)
    return st.fixed_dictionaries({}, optional=arguments).map(lambda given: (tool, given))


def called(tool: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    TRIED.add(tool)
    return st.fixed_dictionaries(arguments).map(lambda given: (tool, given))


def at_symbol(tool: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return called(tool, path=path, line=number, symbol=st.just("DEBUG"), **more)


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
    call("git__git_add", files=st.lists(path, max_size=2)),
    call("git__git_reset", files=st.lists(path, max_size=2)),
    called("git__git_create_branch", branch_name=st.sampled_from(("next", "main")), base_branch=revision),
    called("git__git_checkout", branch_name=st.just("nothing")),
    called(
        "git__git_commit",
        agent=st.just("coder"),
        scope=st.just("x"),
        description=st.just("y"),
        files=st.lists(path, max_size=2),
    ),
    call("filesystem__list_allowed_directories"),
    called("filesystem__write_file", path=st.just("written.txt"), content=text),
    called("filesystem__create_directory", path=path | st.just("made")),
    call("run_check", check=st.sampled_from(("lint", "tests", "build"))),
    called("run_snippet", code=st.just("print(open('app.cfg').read(), open('notes.md').read())")),
    call("build__build_detect"),
    call("build__build_run"),
    call("build__build_clean"),
    call("build__build_output"),
    call("test__test_list"),
    call("test__test_run"),
    call("test__test_output"),
    call("transitions__transition", current_state=st.just("*"), next_state=st.sampled_from(("first", "x"))),
    call("transitions__current_guidance", state=st.sampled_from(("*", "first", "x"))),
    call("transitions__list_states"),
    call("transitions__path"),
    *(at_symbol(f"lsp_{name}") for name in ("hover", "definition", "references", "implementations")),
    at_symbol("lsp_rename", new_name=st.just("OTHER")),
    called("lsp_symbols", path=path),
    called("lsp_workspace_symbols", query=text),
    called("lsp_code_actions", path=path, line=number),
    called("lsp_apply_code_action", path=path, line=number, title=st.just("x")),
    call("diagnostics", path=path),
    call("editor_buffers"),
    call("editor_quickfix"),
    called("read_result", call=number),
)
MENTIONS: Final = (
    *("", "@diff", "@tree", "@symbols", "@buffer", "@selection", "@diagnostics", "@file:settings.py"),
    *("@file:.env", "@file:notes.md:7-8", "@file:notes.md#End", "@diff:settings.py", "@file:docs/plain.txt"),
    *("@run:EARLIER", "@run", "@last", "@tree:docs", "@symbols:settings.py", "@words", "@login"),
    *("@symbol", "@symbol:KEY", "@symbol:DEBUG"),
)
WORKFLOWS: Final = (
    *("look", "look", "look", "look", "told", "ask", "summarize", "generate", "refactor", "multi_file"),
    *("edit", "chat"),
)
PLAN: Final = {
    "files": [{"action": "modify", "path": "docs/plain.txt"}, {"action": "create", "path": "made.py"}]
}
"""A plan for files without secrets: others need a person."""
ELSEWHERE: Final = {
    "task": "test_leaks_places.py::test_prompts_of_a_task",
    "handoff": "its agents are steps of a definition, as those of `look`",
    "review_changes": "asks no model",
    "apply": "asks no model",
    "answer": "asks no model",
    "land": "asks no model",
    "agent": "asks an agent, which reads the copy itself: adapters/acp",
}
"""Workflows that are not tried here, and why."""
SERVED: Final = (*SERVERS, "transitions", "other")
LOOK: Final = {
    "name": "look",
    "steps": [
        {
            "id": "a",
            "task": "Look at {{ prompt }}",
            "tools": ["look", "editor", "edits", "checks", *(f"{name}/*" for name in SERVED)],
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


class Apart(Bench):
    """A bench with its state outside the project, as the project is copied."""

    @property
    def private(self) -> Path:
        return self.root.with_name(f"{self.root.name}-state")


class Planted:
    """A project with secrets, and its runs. A scripted yes is not the person's."""

    def __init__(self, root: Path, server: ModelServer, secrets: Secrets) -> None:
        self.secrets = secrets
        root.mkdir()
        plant(root, self.secrets)
        self.server = server
        self.bench = Apart(root, server, tools=True)
        # what is planted stays: no edit is accepted
        self.bench.front.answer = lambda request: Decision(request.kind != "review", by="policy")
        self.bench.front.editor = told_editor(root, secrets)  # type: ignore[assignment]
        checks = chain.from_iterable(select_tools(root, VerifyConfig()).values())
        ProjectTrust(root).trust(filter(None, (*checks, detect_clean_command(root))))
        names = {"@words": {"text": f"Log in with {secrets.token()}."}, "@login": ".env"}
        (root / ".tideate").mkdir()
        (root / ".tideate/context.json").write_text(json.dumps({"version": "1.0.0", "mappings": names}))
        for flow in (LOOK, TOLD):
            self.bench.registry.register(WorkflowDefinition.model_validate(flow), {})
        self._diagnosed = DiagnosticContext(
            line=3, column=1, severity="error", message=f"bad {self.secrets.token()}"
        )
        (root / ".git" / "info" / "exclude").write_text(".tideate\n")
        use(self.bench, OurServers(root, self.secrets))
        self._earlier = ""

    async def remember(self) -> None:
        """Record a run with secrets in its prompt and answer."""
        self.server.answers("", f"It is {self.secrets.variable()}\n{self.secrets.key()}")
        result = await self.bench.run("ask", f"what is {self.secrets.token()}?")
        assert result.ok, result.error
        self._earlier = result.execution_id
        self.server.forgets("")

    async def requests(
        self, workflow: str, mention: str, calls: list[tuple[str, dict[str, Any]]]
    ) -> list[Any]:
        """Run a workflow with a model that makes these calls; return the server's requests."""
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
        self.server.calls("Which files have to be", "submit_plan", PLAN, times=1)
        self.server.answers("", "```\nnothing\n```")
        text = (self.bench.root / "settings.py").read_text()
        context = RunContext(
            cwd=str(self.bench.root),
            buffer=BufferContext(path=str(self.bench.root / "settings.py"), text=text.removesuffix("\n")),
            cursor=Cursor(line=4, column=1),
            selection=Selection(start=5, end=7) if workflow == "refactor" else None,
            diagnostics=(self._diagnosed,),
        )
        asked = f"what is this? {mention.replace('EARLIER', self._earlier)}"
        result = await self.bench.run(workflow, asked, context=context)
        assert len(self.server.requests) > before, ("the model was not asked", result.error)
        self.server.forgets("")
        self.server.forgets("Which files have to be")
        return self.server.requests[before:]


_VARYING: Final = re.compile(
    r"\b[0-9a-f]{7,64}\b|\d{4}-\d\d-\d\dT[\d:.+Z-]+|\b\d+-(?=[0-9a-f]{16})|(?<=\"durationMs\": )\d+"
    r"| in \d+\.\d s\b"
)
"""Ids of commits, times and states of files: these depend on all that is in a project."""


def answers(requests: list[Any], root: Path) -> list[str]:
    """Return the tool results in the last request, without the parts that always differ."""
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
        for one in made:
            await one.remember()
        yield made
        for one in made:
            await one.bench.aclose()


async def test_every_tool_mention_and_workflow_is_tried(tmp_path: Path) -> None:
    servers, registry = OurServers(tmp_path, Secrets(0, "")), WorkflowRegistry()
    register_builtin(registry)
    own = {one.name for one in tools_named(GROUPS, editor=True)}
    served = {f"{name}__{one.name}" for name in SERVED for one in await servers.tools(name)}
    assert own | served | {"read_result"} == TRIED
    assert {mention.split(":")[0] for mention in MENTIONS} >= set(BUILT_IN)
    assert {one.definition.name for one in registry.list()} == {*WORKFLOWS, *ELSEWHERE} - {"look", "told"}


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
        assert project.secrets.leaks_in(json.dumps(requests, ensure_ascii=False)) == set()
        told.append(answers(requests, project.bench.root))
    if workflow != "told":
        assert told[0] == told[1]
