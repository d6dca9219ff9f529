"""Comparison of models in a real Neovim: answers side by side, choice of one, hunks of several."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_run_views import kill, stored
from tests.harness.dialogs import answers, ask, choose, hurry, wait_focused
from tests.harness.model_server import ModelServer
from tests.harness.review import NOTHING, bar, left_overs, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_rules import Gate

    Servers = dict[str, tuple[ModelServer, Gate]]

OWN = [
    {"start": 9, "old": ["line 10"], "new": ["TEN"]},
    {"start": 19, "old": ["line 20"], "new": ["TWENTY"]},
]
ZEHN = {"start": 9, "old": ["line 10"], "new": ["zehn"]}
ONLY = {"start": 29, "old": ["line 30"], "new": ["dreißig"]}


def review(editor: Editor, *others: dict[str, Any], draft: Path | None = None, **file: Any) -> None:
    own = {**opened(editor, OWN), "digest": "same", **file}
    other = {**own, "hunks": [*others]}
    runs = [{"execution_id": "b" * 32, "adapter": "b", "files": [other]}] if others else []
    payload = {
        "files": [own],
        "demonstration": False,
        "revisable": True,
        "alternatives": runs,
        "adapter": "a",
    }
    ask(editor, "review", payload=payload, draft=str(draft or ""))
    wait_focused(editor)


def decided(editor: Editor) -> dict[str, Any]:
    (answer,) = answers(editor)
    (file,) = answer["value"]["files"]
    return dict(file)


def test_the_hunk_of_another_model_is_taken_in_place_of_this_one(editor: Editor) -> None:
    review(editor, ZEHN, OWN[1])
    editor.feed("gm")
    assert "the hunk from the adapter 'b'" in editor.messages()
    assert "hunk 1/2 · from 'b'" in str(editor.lua("return vim.wo.winbar"))
    editor.feed("ga")
    editor.feed("gag<CR>")
    assert decided(editor) == {"path": "a.txt", "accepted": [1], "rejected": [0], "added": [ZEHN]}
    assert left_overs(editor) == NOTHING


def test_mixing_leads_around_and_is_undone(editor: Editor) -> None:
    review(editor, ZEHN)
    editor.feed("gmgm")
    assert "the hunk from the adapter 'a'" in editor.messages()
    editor.feed("gmgu")
    assert "from 'b'" not in str(editor.lua("return vim.wo.winbar"))
    editor.feed("gAg<CR>")
    assert decided(editor) == {"path": "a.txt", "accepted": [0, 1], "rejected": []}


def test_mixing_takes_back_what_the_person_wrote_also_in_the_draft(editor: Editor, tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    review(editor, ZEHN, draft=draft)
    editor.feed("geccmine<Esc>:w<CR>")
    editor.feed("[cgm")
    editor.feed("gmga")
    made = [json.loads(line).get("decided", [[]])[0] for line in draft.read_text().splitlines()]
    assert [one[5] for one in made if len(one) > 5] == [{"old": ["line 10"], "new": ["mine"]}, False]
    editor.feed("gu")
    editor.feed("gugu")
    editor.feed("g<CR>")
    edited = [{"hunk": 0, "old": ["line 10"], "new": ["mine"]}]
    assert decided(editor) == {"path": "a.txt", "accepted": [0], "rejected": [], "edited": edited}


@pytest.mark.parametrize("taken", [False, True])
def test_what_only_another_model_changes_is_left_out_until_it_is_accepted(
    editor: Editor, taken: bool
) -> None:
    review(editor, ONLY, ZEHN)
    editor.feed("30Gga" if taken else "gg")
    editor.feed("gAg<CR>")
    added = {"added": [ONLY]} if taken else {}
    assert decided(editor) == {"path": "a.txt", "accepted": [0, 1], "rejected": [], **added}


def test_hunks_that_change_the_same_lines_are_not_accepted_together(editor: Editor) -> None:
    wide = {"start": 9, "old": [f"line {n}" for n in range(10, 21)], "new": ["all of it"]}
    review(editor, wide)
    editor.feed("gmga")
    editor.feed("20Gga")
    assert "a hunk that you accepted changes these lines, too" in editor.messages()
    editor.feed("grg<CR>")
    assert decided(editor) == {"path": "a.txt", "accepted": [], "rejected": [0, 1], "added": [wide]}


def test_hunks_of_another_text_are_not_offered(editor: Editor) -> None:
    own = {**opened(editor, OWN), "digest": "same"}
    other = {**own, "digest": "another", "hunks": [ZEHN, ONLY]}
    runs = [{"execution_id": "b" * 32, "adapter": "b", "files": [other]}]
    ask(editor, "review", payload={"files": [own], "alternatives": runs, "adapter": "a"})
    wait_focused(editor)
    editor.feed("gm")
    assert "no other model has a hunk here" in editor.messages()
    editor.feed("gAg<CR>")
    assert decided(editor)["accepted"] == [0, 1]


def test_what_was_taken_of_another_comes_back_in_the_next_review(editor: Editor) -> None:
    review(editor, ZEHN, decided={"accepted": [], "rejected": [0], "added": [ZEHN]})
    assert editor.lua("return vim.fn.line('.')") == 20
    editor.feed("gag<CR>")
    assert decided(editor) == {"path": "a.txt", "accepted": [1], "rejected": [0], "added": [ZEHN]}


def test_what_was_taken_of_another_is_written_down(editor: Editor, tmp_path: Path) -> None:
    editor.lua("vim.o.columns = 120")
    draft = tmp_path / "draft.jsonl"
    review(editor, ZEHN, ONLY, draft=draft)
    editor.feed("gmga")
    editor.feed("gr")
    editor.feed("30Gga")
    editor.feed("gu")
    editor.feed("gUg<CR>")
    review(editor, ZEHN, ONLY, draft=draft)
    assert "3 hunks: 2 accepted, 1 rejected" in bar(editor)
    editor.feed("gugu")
    editor.feed("gUgU")
    editor.feed("g<CR>")
    (_, answer) = answers(editor)
    assert answer["value"]["files"] == [
        {"path": "a.txt", "accepted": [], "rejected": [0, 1], "added": [ZEHN, ONLY]}
    ]


def test_an_edit_that_was_decided_anew_is_there_in_the_next_neovim(editor: Editor, tmp_path: Path) -> None:
    draft, edit = tmp_path / "draft.jsonl", {"old": ["line 10"], "new": ["mine"]}
    rows = [[1, 1, "a", None, None, edit], [1, 1, "o", None], [1, 1, "a", None]]
    draft.write_text("".join(f"{json.dumps({'decided': [row]})}\n" for row in rows))
    review(editor, ZEHN, draft=draft)
    editor.feed("g<CR>")
    assert decided(editor)["edited"] == [{"hunk": 0, **edit}]


def test_what_was_taken_of_a_run_that_is_gone_is_open_again(editor: Editor, tmp_path: Path) -> None:
    editor.lua("vim.o.columns = 120")
    draft = tmp_path / "draft.jsonl"
    review(editor, ZEHN, ONLY, draft=draft)
    editor.feed("gmga")
    editor.feed("gr")
    editor.feed("30Gga")
    editor.feed("g<CR>")
    review(editor, draft=draft)
    assert "2 hunks: 1 rejected, 1 open" in bar(editor)
    editor.feed("gu")
    assert "2 hunks: 2 open" in bar(editor)


RUNS: list[dict[str, Any]] = [
    {
        "execution_id": "a" * 32,
        "adapter": "small\x1b[2J",
        "takable": True,
        "state": "review",
        "duration_ms": 1200,
        "usage": {"input_tokens": 120, "output_tokens": 30, "cost": 0.0012},
        "files": [{"path": "a.txt", "action": "modify", "hunks": OWN}],
    },
    {
        "execution_id": "b" * 32,
        "adapter": "large",
        "takable": False,
        "state": "failed",
        "error": "HTTP 500\nmore",
    },
    {
        "execution_id": "c" * 32,
        "adapter": "other",
        "takable": True,
        "state": "review",
        "files": [{"path": "a.txt", "action": "modify", "hunks": [ZEHN]}],
    },
]


@pytest.mark.parametrize(("key", "take"), [("1", "a" * 32), ("3", "c" * 32), ("n", None)])
def test_one_of_the_answers_is_chosen_or_none(small_editor: Editor, key: str, take: str | None) -> None:
    ask(small_editor, "compare", message="Take which of 2 answers?", payload={"runs": RUNS})
    wait_focused(small_editor)
    screen = "\n".join(small_editor.wait_screen("Take which of 2 answers?"))
    assert r"small\x1b[2J" in screen
    assert "+2 -2 lines in 1 file" in screen
    assert "120/30 tokens · $0.0012" in screen
    assert "HTTP 500" in screen
    small_editor.feed("d")
    small_editor.wait_screen("+zehn")
    small_editor.feed("q")
    wait_focused(small_editor)
    assert small_editor.lua("return vim.fn.maparg('2', 'n')") == ""  # it failed, and cannot be taken
    choose(small_editor, 2)
    small_editor.feed(key)
    small_editor.wait("#_G.answers == 1")
    (answer,) = answers(small_editor)
    assert (answer["accepted"], answer.get("value")) == (take is not None, {"take": take} if take else None)


WORDS = "one\ntwo\nthree\nfour\nfive\n"
LOUD = "ONE\ntwo\nthree\nfour\nFIVE\n"
GERMAN = "one\nzwei\nthree\nfour\nfünf\n"


@pytest.fixture
def servers() -> Iterator[Servers]:
    """The models a and b, each with an event that releases its answer."""
    with ExitStack() as stack:
        made: Servers = {}
        for name, text in (("a", LOUD), ("b", GERMAN)):
            server = stack.enter_context(ModelServer(model=name))
            server.answers("what must not change", f"{name} keeps the order")
            made[name] = (server, server.holds("in one fenced block", text=f"```\n{text}```"))
        yield made


def set_up(editor: Editor, servers: Servers) -> None:
    adapters = {
        name: {"base_url": server.base_url, "model": name, "tools": False}
        for name, (server, _) in servers.items()
    }
    editor.lua("require('tideate').setup(...)", {"adapter": "a", "adapters": adapters})
    hurry(editor)


def begin(editor: Editor, servers: Servers) -> None:
    """Compare both models on a text; wait until both have started to answer."""
    set_up(editor, servers)
    editor.edit("a.txt", WORDS)
    editor.command("%Workflow compare refactor --models=a,b translate")
    for _, gate in servers.values():
        gate.wait_started()


def release(servers: Servers) -> None:
    for _, gate in servers.values():
        gate.release()


def take_first(editor: Editor) -> None:
    editor.wait_screen("Take which of 2 answers?")
    wait_focused(editor)
    editor.feed("1")
    editor.wait("vim.wo.winbar:find('review', 1, true) ~= nil")
    wait_focused(editor)


@pytest.mark.slow
def test_the_clocks_of_silent_models_go_on(start_editor: EditorFactory, servers: Servers) -> None:
    editor = start_editor(ui=(200, 40))
    begin(editor, servers)
    bars = (
        "vim.tbl_filter(function(win) return vim.wo[win].winbar:find('[1-9]s') end, vim.api.nvim_list_wins())"
    )
    editor.wait(f"#{bars} == 2")
    release(servers)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 200])
def test_two_models_are_compared_and_mixed(
    start_editor: EditorFactory, servers: Servers, columns: int
) -> None:
    editor = start_editor(ui=(columns, 40))
    begin(editor, servers)
    windows = "return #require('tideate.ui.window').normal_windows()"
    assert editor.lua(windows) == (3 if columns == 200 else 1)
    release(servers)
    take_first(editor)
    assert editor.lines() == WORDS.split("\n")[:-1]
    editor.feed("ga")
    editor.feed("gmgag<CR>")
    editor.wait("vim.fn.getline(5) == 'fünf'")
    editor.wait_screen("accepted the answer of the adapter 'a'")
    assert editor.lines() == ["ONE", "two", "three", "four", "fünf"]
    assert editor.lua(windows) == 1
    assert not editor.lua("return require('tideate').is_running()")


def test_resuming_one_run_of_a_comparison_resumes_all_of_it(editor: Editor) -> None:
    sent = editor.lua("""
      local sent = {}
      require('tideate.client').request = function(method, params, on_result)
        table.insert(sent, { method, params.execution_id })
        if method == 'to_resume' then
          on_result({ ok = true, owned = false, run = { execution_id = ('a'):rep(32), workflow = 'refactor',
            completed_steps = 1, total_steps = 2, compared = { 'small', 'large' } } })
        end
      end
      require('tideate.stored_runs').resume('aaaa', { folder = '/p' })
      return sent
    """)
    assert sent == [["to_resume", "aaaa"], ["compare_resume", "a" * 32]]
    words = "refactor (1/2) aaaaaaaa is part of a comparison of small, large: resuming all of it"
    assert words in editor.messages()


@pytest.mark.slow
@pytest.mark.parametrize("at", ["the choice", "the review"])
def test_a_comparison_that_is_left_waits(start_editor: EditorFactory, servers: Servers, at: str) -> None:
    editor = start_editor(ui=(120, 40))
    (editor.cwd / ".tideate").mkdir()
    begin(editor, servers)
    release(servers)
    if at == "the review":
        take_first(editor)
        editor.feed("ga")
    else:
        editor.wait_screen("Take which of 2 answers?")
        wait_focused(editor)
        choose(editor, 1)
        editor.feed("<Esc>n")
        editor.wait("#_G.choices == 1")
        assert editor.lua("return _G.choices[1][2]")[:2] == ["back to the choice", "take none of them"]
    editor.feed("q")
    editor.wait("not require('tideate').is_running()")
    runs = [one["execution_id"] for one in editor.lua("return require('tideate.state').runs()")]
    assert len(runs) == 2
    editor.wait_for(lambda: all(stored(editor, run).resumable for run in runs), "the runs wait")
    count = sum(len(server.requests) for server, _ in servers.values())
    editor.command("Workflow review")
    take_first(editor)
    editor.feed("gAg<CR>")
    editor.wait_screen("accepted the answer of the adapter 'a'")
    assert editor.lines() == LOUD.split("\n")[:-1]
    assert sum(len(server.requests) for server, _ in servers.values()) == count, "no model is asked again"


@pytest.mark.slow
def test_a_comparison_goes_on_after_a_kill_with_what_was_taken(
    start_editor: EditorFactory, servers: Servers
) -> None:
    first = start_editor(ui=(120, 40))
    (first.cwd / ".tideate").mkdir()
    begin(first, servers)
    release(servers)
    take_first(first)
    first.feed("ga")
    first.feed("gmga")
    kill(first)
    state = {"XDG_STATE_HOME": str(first.home / "state")}
    editor = start_editor(ui=(120, 40), cwd=first.cwd, env=state)
    set_up(editor, servers)
    editor.command("Workflow review")
    take_first(editor)
    assert "2 accepted" in bar(editor)
    editor.feed("g<CR>")
    editor.wait_screen("accepted the answer of the adapter 'a'")
    assert (editor.cwd / "a.txt").read_text().splitlines() == ["ONE", "two", "three", "four", "fünf"]


@pytest.mark.slow
def test_each_review_of_a_comparison_of_which_none_was_taken_is_opened_again(
    start_editor: EditorFactory, servers: Servers
) -> None:
    editor = start_editor(ui=(120, 40))
    (editor.cwd / ".tideate").mkdir()
    begin(editor, servers)
    release(servers)
    editor.wait_screen("Take which of 2 answers?")
    wait_focused(editor)
    choose(editor, 2)
    editor.feed("n")
    editor.wait("not require('tideate').is_running()")
    count = sum(len(server.requests) for server, _ in servers.values())
    runs = {
        one["adapter"]: one["execution_id"] for one in editor.lua("return require('tideate.state').runs()")
    }
    for adapter in ("a", "b"):
        assert f":Workflow review {runs[adapter][:8]} opens it again" in editor.messages()
    editor.command(f"Workflow review {runs['b'][:8]}")
    editor.wait("vim.wo.winbar:find('review', 1, true) ~= nil")
    wait_focused(editor)
    editor.feed("gA")
    editor.feed("g<CR>")
    editor.wait("not require('tideate').is_running()")
    assert editor.lines() == GERMAN.split("\n")[:-1]
    assert sum(len(server.requests) for server, _ in servers.values()) == count, "no model is asked again"
