"""Killed at every boundary and inside calls, each kind of tool: nothing recorded is done again."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine import counting_server
from tests.engine.test_killed import REPOSITORY
from tests.harness.model_server import ModelServer
from tests.harness.project import write_files
from tests.harness.state import trust_file
from tideate_core.agents.delegation import MOST_CALLS
from tideate_core.agents.tools.table import GROUPS, tools_named
from tideate_core.config import VerifyConfig
from tideate_core.toolchain import ProjectTrust, select_tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    Call = tuple[str, Mapping[str, Any]]

pytestmark = [pytest.mark.bulk, pytest.mark.concurrency, pytest.mark.slow, pytest.mark.timeout(600)]

WORDS = "Do all of it"
EVERYWHERE = "after inside recorded"
FILES = {
    "a.py": "def one():\n    return 1\n\n\nprint(one())\n",
    "b.txt": "two\n",
    "c.txt": "three\n",
    ".agents/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: How to tidy.\n---\nSweep.\n",
}
KINDS: dict[str, list[Call]] = {
    "files": [
        ("read_file", {"path": "a.py"}),
        ("list_files", {}),
        ("find_files", {"glob": "*.txt"}),
    ],
    "search": [("search", {"pattern": "t.o"})],
    "symbols": [("outline", {"path": "a.py"}), ("find_symbol", {"name": "one"})],
    "git": [
        ("git_status", {}),
        ("git_diff", {}),
        ("git_log", {}),
        ("git_show", {"revision": "HEAD"}),
        ("git_blame", {"path": "a.py", "first": 1, "last": 2}),
    ],
    "skills": [("open_skill", {"name": "tidy"})],
    "edits": [
        ("read_file", {"path": "a.py"}),
        ("edit_file", {"path": "a.py", "edits": [{"search": "return 1", "replace": "return 2"}]}),
        ("write_file", {"path": "new.txt", "text": "new\n"}),
        ("move_file", {"path": "b.txt", "to": "moved/b.txt"}),
        ("delete_file", {"path": "c.txt"}),
        ("edit_file", {"path": "new.txt", "edits": [{"search": "new", "replace": "newer"}]}),
    ],
}
"""Calls by the group that they are of; those of the editor are in `tests/editor/test_killed_queries.py`."""
EDITED = {
    "a.py": FILES["a.py"].replace("return 1", "return 2"),
    "new.txt": "newer\n",
    "moved/b.txt": "two\n",
}


@dataclass
class Place:
    """A project, the flow in it, and the model that it asks."""

    root: Path
    server: ModelServer

    def let(self, tools: Sequence[str] = (), config: Any = None, **step: Any) -> None:
        """Make the flow: one step."""
        step = {"id": "work", "task": WORDS, "tools": list(tools), "retries": 0, **step}
        (self.root.parent / "flow.json").write_text(json.dumps({"name": "flow", "steps": [step]}))
        if config is not None:
            (self.root.parent / "config.json").write_text(json.dumps(config))

    def call(self, *calls: Call, words: str = WORDS, end: str = "all done") -> None:
        """Have the model make calls, one a turn, and end."""
        for tool, arguments in calls:
            self.server.calls(words, tool, arguments, times=1)
        self.server.answers(words, end, times=1)

    def go(self, places: str = EVERYWHERE, *, ok: bool = True) -> int:
        """Run the flow to its end, killed on the way; return how often."""
        command = [sys.executable, "-m", "tests.engine.killed_calls", str(self.root), self.server.base_url]
        done = subprocess.run(
            [*command, places], cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=500
        )
        assert (done.returncode == 0) == ok, (done.stderr, self.server.unmatched)
        return int(done.stdout)

    def lines(self, name: str) -> list[Any]:
        """Return the content of a file that a run left beside the project."""
        path = self.root.parent / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def made(self) -> Counter[str]:
        """Return how often each call was made."""
        return Counter(json.dumps(deed) for deed in self.lines("deeds"))

    def told(self) -> list[str]:
        """Return the results of calls that the model got."""
        return [one["content"] for one in self.server.requests[-1]["messages"] if one["role"] == "tool"]

    def files(self) -> dict[str, str]:
        every = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        names = {path.relative_to(self.root).as_posix(): path.read_text(errors="replace") for path in every}
        return {name: text for name, text in names.items() if not name.startswith((".git/", ".tideate/"))}


def make_place(home: Path, server: ModelServer) -> Place:
    root = home / "project"
    write_files(root, FILES)
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00Z"}
    for words in ("init -q", "add .", "-c user.name=x -c user.email=x@example.org commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=root, env={**os.environ, **dates}, check=True)
    (root / "a.py").write_text(FILES["a.py"] + "# later\n")
    return Place(root, server)


@pytest.fixture
def place(tmp_path: Path, server: ModelServer) -> Place:
    return make_place(tmp_path, server)


def test_each_tool_without_an_editor_or_a_program_is_called() -> None:
    known = {tool.name for tool in tools_named(set(GROUPS) - {"editor", "checks"}, editor=False)}
    assert {name for calls in KINDS.values() for name, _ in calls} == known


@pytest.mark.parametrize("kind", KINDS)
def test_killed_inside_and_after_each_call_only_a_call_that_was_cut_off_is_made_again(
    place: Place, tmp_path: Path, kind: str
) -> None:
    calls = KINDS[kind]
    with ModelServer() as model:
        unkilled = make_place(tmp_path / "unkilled", model)
        unkilled.let(["look", "edits"])
        unkilled.call(*calls)
        assert unkilled.go("") == 0
        wanted, files = unkilled.told(), unkilled.files()
    assert not any(text.startswith("error") for text in wanted), wanted
    place.let(["look", "edits"])
    place.call(*calls)
    assert place.go("inside recorded") == 2 * len(calls)  # after turns: `test_killed_loop.py`
    assert len(place.server.requests) == len(calls) + 1, "a turn was asked for twice"
    assert (place.told(), place.files()) == (wanted, files)
    assert set(place.made().values()) == {2}, "inside of each call it was killed once"
    if kind == "edits":
        assert "c.txt" not in files
        assert {name: files[name] for name in EDITED} == {**EDITED, "a.py": EDITED["a.py"] + "# later\n"}


# -- tools of MCP servers -------------------------------------------------------------------------


@pytest.fixture
def counting(place: Place) -> Place:
    """A step with the tools of a server that counts its calls in `count`."""
    command = [sys.executable, counting_server.__file__, str(place.root.parent / "count")]
    place.let(["counting/*"], {"mcp": {"servers": {"counting": {"command": command}}}})
    return place


def counted(place: Place) -> list[str]:
    return (place.root.parent / "count").read_text().split()


def test_killed_at_every_boundary_a_servers_tool_is_called_once_and_asked_about_once(counting: Place) -> None:
    counting.call(("counting__charge", {}), ("counting__look", {}))
    assert counting.go("after recorded") == 5
    assert counted(counting) == ["charge", "look"]
    assert counting.told() == ["charge is done", "look is done"]
    kinds = [kind for kind, _ in counting.lines("asked")]
    assert kinds == ["tool", "tool"], "a permission is asked for once"


def test_killed_inside_a_call_with_effect_it_is_not_made_again_unasked(counting: Place) -> None:
    (counting.root.parent / "no_to").write_text("gate")
    counting.call(("counting__charge", {}))
    assert counting.go("inside") == 1
    assert counted(counting) == ["charge"]
    (told,) = counting.told()
    assert told.startswith("error: the person did not allow this call")
    asked = counting.lines("asked")
    assert [kind for kind, _ in asked] == ["tool", "gate"]
    assert "was called before, and no answer came. It may have done its work." in asked[1][1]


def test_killed_inside_a_call_with_effect_it_is_made_again_where_a_person_says_so(counting: Place) -> None:
    counting.call(("counting__charge", {}))
    assert counting.go("inside") == 1
    assert counted(counting) == ["charge", "charge"]
    assert counting.told() == ["charge is done"]


def test_killed_inside_a_call_of_a_server_that_only_reads_it_is_made_again(counting: Place) -> None:
    (counting.root.parent / "no_to").write_text("gate")
    counting.call(("counting__look", {}))
    assert counting.go("inside") == 1
    assert counted(counting) == ["look", "look"]
    assert counting.told() == ["look is done"]
    assert [kind for kind, _ in counting.lines("asked")] == ["tool"]


# -- agents that are asked ------------------------------------------------------------------------

CHEF = "---\nagents: [cook]\n%s---\nYou are the chef.\n"
COOK = "---\ntools: [read_file]\n---\nYou cook.\n"
TASK: Call = ("agent_cook", {"task": "Name a soup"})
LOOK: Call = ("read_file", {"path": "b.txt"})


def kitchen(place: Place, more: str = "", cook: str = COOK) -> None:
    write_files(place.root, {".tideate/agents/chef.md": CHEF % more, ".tideate/agents/cook.md": cook})
    for name in ("chef", "cook"):
        trust_file(place.root / f".tideate/agents/{name}.md")
    place.let(agent="chef")


def spend_hundreds(server: ModelServer) -> None:
    server.prompt_tokens = 100


def test_killed_everywhere_an_asked_agent_goes_on_where_it_was(place: Place) -> None:
    spend_hundreds(place.server)
    kitchen(place)
    place.call(TASK)
    place.call(LOOK, words="Name a soup", end="goulash")
    assert place.go() == 8  # 4 turns, and inside of and after each of two calls
    assert len(place.server.requests) == 4, "nothing is asked twice"
    assert place.told() == ["goulash"]
    reading, asking = (json.dumps(["", *LOOK]), json.dumps(["agents", "cook", {"task": "Name a soup"}]))
    assert place.made() == {reading: 2, asking: 2}
    assert place.lines("usage")[0][0] == 400, "the tokens of the one who was asked are of the run, too"


@pytest.mark.parametrize("places", ["", "after", "recorded", EVERYWHERE])
def test_tokens_of_an_asked_agent_count_for_the_limit_of_who_asked_also_after_a_crash(
    place: Place, places: str
) -> None:
    spend_hundreds(place.server)
    kitchen(place, "tokens: 350\n")
    place.call(TASK)
    place.call(LOOK, words="Name a soup", end="goulash")
    place.go(places, ok=False)
    assert len(place.server.requests) == 4, "the fourth turn is over the limit"
    assert place.lines("usage")[0][0] == 400


def test_an_asked_agent_without_tools_is_not_asked_again_and_its_tokens_count(place: Place) -> None:
    spend_hundreds(place.server)
    kitchen(place, "tokens: 250\n", "You cook.\n")
    place.call(TASK)
    place.server.answers("Name a soup", "goulash", times=1)
    place.go("recorded", ok=False)
    assert len(place.server.requests) == 3
    assert place.lines("usage")[0][0] == 300


def test_no_more_tasks_are_given_after_crashes_than_without_one(place: Place) -> None:
    kitchen(place, "", "You cook.\n")
    place.call(*[("agent_cook", {"task": f"Name soup {at}"}) for at in range(MOST_CALLS + 1)])
    for at in range(MOST_CALLS):
        place.server.answers(f"Name soup {at}", "goulash", times=1)
    assert place.go("recorded") == MOST_CALLS + 1
    assert place.told()[-1].startswith(f"error: no more than {MOST_CALLS} tasks may be given")


# -- checks: a pytest that says in a pipe that it runs, and counts its runs ------------------------

TEST = """\
import pathlib

def test_it():
    place = pathlib.Path({place!r})
    with (place / "runs").open("a") as file:
        file.write("run\\n")
    if not (place / "answered").exists():
        with (place / "pipe").open("w") as pipe:
            pipe.write("it runs\\n")
            pipe.flush()
            (place / "never").open().read()  # until it is killed
"""
CHECK: Call = ("run_check", {"check": "tests"})


@pytest.fixture
def checked(place: Place) -> Place:
    """A project with a trusted check that waits to be killed until the file `answered` exists."""
    around = place.root.parent
    for name in ("pipe", "never"):
        os.mkfifo(around / name)
    write_files(
        place.root,
        {"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/test_it.py": TEST.format(place=str(around))},
    )
    ProjectTrust(place.root).trust(chain.from_iterable(select_tools(place.root, VerifyConfig()).values()))
    place.let(["checks"])
    place.call(CHECK)
    return place


def runs(place: Place) -> int:
    return (place.root.parent / "runs").read_text().count("run")


def test_killed_at_every_boundary_a_check_is_run_once(checked: Place) -> None:
    (checked.root.parent / "answered").touch()
    assert checked.go("after recorded") == 3
    assert runs(checked) == 1
    assert checked.told()[0].startswith("tests passed: ")


def test_killed_while_a_check_runs_it_ends_and_is_run_again_on_a_new_scratch_copy(checked: Place) -> None:
    around = checked.root.parent
    running = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.killed_calls", str(checked.root), checked.server.base_url, ""],
        cwd=REPOSITORY,
        start_new_session=True,
    )
    try:
        with open_in_time(around / "pipe") as pipe:
            assert read_in_time(pipe) == b"it runs\n"
            os.killpg(running.pid, signal.SIGKILL)
            running.wait(60)
            assert read_in_time(pipe) == b"", "the check goes on after its owner was killed"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    (around / "answered").touch()
    assert checked.go("") == 0
    assert runs(checked) == 2, "it was cut off, and only reads what counts"
    assert checked.told()[0].startswith("tests passed: ")
    assert len(checked.server.requests) == 2
    private = checked.root.parent / "private" / "scratch"
    assert not private.exists() or not list(private.iterdir()), "a scratch copy is left"


@contextlib.contextmanager
def open_in_time(path: Path) -> Iterator[int]:
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield pipe
    finally:
        os.close(pipe)


def read_in_time(pipe: int) -> bytes:
    """Return the next data; empty once no process has it open for writing."""
    ready = select.poll()
    ready.register(pipe, select.POLLIN | select.POLLHUP)
    assert ready.poll(90_000), "nothing came in time"
    return os.read(pipe, 100)
