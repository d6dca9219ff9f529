"""Review rounds: comments go to the editing model, and only differences are open again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.results import limit
from tests.builtin.test_buffer_workflows import analyzed, planned
from tests.builtin.test_with_tools import SHOP, edit, hand_in, raise_prices
from tests.engine.logbook import RUN
from tideate_core.engine import EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest

WORDS = "one\ntwo\nthree\nfour\nfive\n"
# of several texts in a conversation the model server answers to the longest
FIRST = "Say ein, and leave {{ 7 * 6 }} alone"
SECOND = "The last line of it is to say funf, with a small letter"
THIRD = "That last line is to have its umlaut, too, as it has in any dictionary"

Answers = list[Decision]


def decisions(*reviews: Decision, override: Decision | None = None) -> tuple[Any, Iterator[Decision]]:
    """Return an answer that uses these review decisions in turn, and yes for the rest."""
    left = iter(reviews)

    def answer(request: ConfirmationRequest) -> Decision:
        if request.kind == "review":
            return next(left)
        return override if override and request.kind == "override" else Decision(True)

    return answer, left


def say(
    accepted: Iterable[int], rejected: Iterable[int], *comments: dict[str, Any], path: str = "a.txt"
) -> Decision:
    files = [{"path": path, "accepted": [*accepted], "rejected": [*rejected]}]
    return Decision(not comments, {"files": files, "comments": [*comments]})


def because(hunk: int, text: str, path: str = "a.txt") -> dict[str, Any]:
    return {"path": path, "hunk": hunk, "text": text}


def reviews(bench: Bench) -> list[ConfirmationRequest]:
    return [request for request in bench.front.requests if request.kind == "review"]


def opened(request: ConfirmationRequest) -> list[str]:
    """Return the new lines of undecided hunks."""
    found = []
    for file in request.payload["files"]:
        decided = file.get("decided", {"accepted": [], "rejected": []})
        known = {*decided["accepted"], *decided["rejected"]}
        found += [line for at, hunk in enumerate(file["hunks"]) if at not in known for line in hunk["new"]]
    return found


def rounds(bench: Bench) -> None:
    """Script a model that follows comments step by step; all words become upper case."""
    bench.write("a.txt", WORDS)
    bench.server.answers("what must not change", "The order stays.", times=1)
    bench.server.answers("in one fenced block", "```\nONE\ntwo\nTHREE\nfour\nFIVE\n```")
    bench.server.answers(FIRST, "```\nein\ntwo\nTHREE\nfour\nFIVE\n```")
    bench.server.answers(SECOND, "```\nein\ntwo\nTHREE\nfour\nfunf\n```")
    bench.server.answers(THIRD, "```\nein\ntwo\nTHREE\nfour\nfünf\n```")


def three_rounds() -> list[Decision]:
    return [
        say([1], [0, 2], because(0, FIRST)),
        say([0, 1], [2], because(2, SECOND)),
        say([0, 1], [2], because(2, THIRD)),
        say([0, 1, 2], []),
    ]


def refactored(bench: Bench) -> dict[str, Any]:
    return {"context": bench.context("a.txt", 1, 5), "execution_id": RUN}


@pytest.mark.slow
@pytest.mark.parametrize("tools", [False, True])
async def test_each_review_after_three_rounds_of_comments_opens_only_what_differs(bench: Bench) -> None:
    rounds(bench)
    bench.front.answer, left = decisions(*three_rounds())
    result = await bench.succeed("refactor", "shout", **refactored(bench))
    shown = [opened(request) for request in reviews(bench)]
    assert shown == [["ONE", "THREE", "FIVE"], ["ein"], ["funf"], ["fünf"]]
    assert [request.payload.get("revision") for request in reviews(bench)] == [None, 2, 3, 4]
    assert reviews(bench)[1].payload["files"][0]["decided"] == {"accepted": [1], "rejected": [2]}
    assert reviews(bench)[1].message.startswith("Revision 2. Apply the change to a.txt")
    assert next(left, None) is None
    assert bench.fingerprint()["a.txt"].decode() == "ein\ntwo\nTHREE\nfour\nfünf\n"
    assert result.response == "ein\ntwo\nTHREE\nfour\nfünf"
    messages = bench.server.requests[-1]["messages"]
    said = [one["content"] for one in messages if one["role"] == "assistant"]
    assert [text.split("\n")[1] for text in said if "```" in text] == ["ONE", "ein", "ein"]
    asked = [one["content"] for one in messages if one["role"] == "user"][-3:]
    assert FIRST in asked[0], "it is no template"
    assert "@@ -1,4 +1,4 @@\n-one\n+ONE\n" in asked[0]
    assert "a.txt, which they reject:" in asked[0]
    assert asked[0].count("They give no reason") == 1, "FIVE was rejected, too"
    assert SECOND in asked[1]
    assert THIRD in asked[2]
    assert len([one for one in bench.server.requests if FIRST in one["messages"][-1]["content"]]) == 1


@pytest.mark.slow
async def test_of_several_files_only_those_are_written_again_that_something_is_said_of(bench: Bench) -> None:
    planned(bench)
    bench.server.answers(FIRST, "```python\nfrom lib.b import f\n\nprint(f())\n```")
    verdict = {
        "files": [
            {"path": "a.py", "accepted": [0], "rejected": [], "comments": []},
            {"path": "lib/b.py", "accepted": [0]},
            {"path": "old.py", "accepted": [], "rejected": [0]},
            {"path": "m.py", "accepted": [0]},
        ],
        "comments": [{"path": "a.py", "text": FIRST}],
    }
    bench.front.answer, _ = decisions(Decision(False, verdict), Decision(True))
    await bench.succeed("multi_file", "move f into a library")
    _, again = reviews(bench)
    assert opened(again) == ["print(f())"]
    decided = [file["decided"] for file in again.payload["files"]]
    done, out = {"accepted": [0], "rejected": []}, {"accepted": [], "rejected": [0]}
    assert decided == [done, done, out, done]
    assert len(bench.server.requests) == 4
    assert sorted(bench.fingerprint()) == ["a.py", "lib/b.py", "lib/m.py", "old.py"], "old.py stays"
    assert bench.fingerprint()["a.py"] == b"from lib.b import f\n\nprint(f())\n"


@pytest.mark.slow
@pytest.mark.parametrize("tools", [True])
async def test_a_model_with_tools_goes_on_with_its_staged_edits(bench: Bench) -> None:
    raise_prices(bench)
    hand_in(bench)
    edit(bench, "shop/price.py", "1.3", "1.4", on=FIRST)
    hand_in(bench, "As you say.", on=FIRST)
    verdict = {
        "files": [
            {"path": "shop/price.py", "accepted": [], "rejected": [0]},
            {"path": "shop/cart.py", "accepted": [0]},
        ],
        "comments": [{"path": "shop/price.py", "hunk": 0, "text": FIRST}],
    }
    bench.front.answer, _ = decisions(Decision(False, verdict), Decision(True))
    result = await bench.succeed("multi_file", "raise it")
    assert opened(reviews(bench)[1]) == ["    return item.net * 1.4"]
    assert bench.fingerprint()["shop/price.py"] == SHOP["shop/price.py"].replace("1.2", "1.4").encode()
    assert b"rate=1" in bench.fingerprint()["shop/cart.py"]
    told = json.dumps(bench.server.requests[-1]["messages"])
    assert "Your edits are still staged" in told
    assert "Carry it out completely" in told, "it is the conversation that made the edit"
    assert str(result.response).startswith("As you say.")


async def test_a_revision_that_cannot_be_used_opens_the_same_review_with_its_comments(bench: Bench) -> None:
    bench.write("a.txt", WORDS)
    analyzed(bench, "```\nONE\ntwo\nTHREE\nfour\nfive\n```")
    bench.server.fails(FIRST, 400)
    bench.front.answer, _ = decisions(say([1], [0], because(0, FIRST)), say([1], [0]))
    await bench.succeed("refactor", "shout", **refactored(bench))
    again = reviews(bench)[1].payload
    assert again["comments"] == [because(0, FIRST)]
    assert again["files"][0]["decided"] == {"accepted": [1], "rejected": [0]}
    (told,) = again["warnings"]
    assert "could not revise it" in told
    assert told in bench.front.notices()
    assert bench.fingerprint()["a.txt"] == b"one\ntwo\nTHREE\nfour\nfive\n"


@pytest.mark.slow
async def test_rounds_are_bounded(bench: Bench) -> None:
    limit(bench, revisions=1)
    rounds(bench)
    bench.front.answer, _ = decisions(*three_rounds()[:2], Decision(True))
    await bench.succeed("refactor", "shout", **refactored(bench))
    first, second, third = reviews(bench)
    assert third.payload["files"][0]["decided"] == {"accepted": [0, 1], "rejected": [2]}, "they are kept"
    assert "comments" not in third.payload, "a front end has nothing that it would send again"
    assert [one.payload["revisable"] for one in (first, second, third)] == [True, False, False]
    assert "no more revisions are possible" in third.message
    assert not any(SECOND in str(request) for request in bench.server.requests)
    assert bench.fingerprint()["a.txt"] == b"ein\ntwo\nTHREE\nfour\nfive\n"


async def test_the_model_is_asked_to_correct_a_syntax_error(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n\ny = 2\n")
    analyzed(bench, "```python\nx = (\n\ny = 3\n```")
    told = "What was accepted of it brings new syntax errors"
    bench.server.answers(told, "```python\nx = 10\n\ny = 3\n```")
    bench.front.answer, _ = decisions(Decision(True), Decision(True), override=Decision(False, "fix"))
    await bench.succeed("refactor", "simplify", context=bench.context("a.py", 1, 3))
    (question,) = [one for one in bench.front.requests if one.kind == "override"]
    assert question.payload == {"fixable": True, "back": True}
    asked = bench.server.requests[-1]["messages"][-1]["content"]
    assert "a.py:1" in asked
    assert opened(reviews(bench)[1]) == ["x = 10"]
    assert bench.fingerprint()["a.py"] == b"x = 10\n\ny = 3\n"
    assert [data["gate"] for data in bench.front.data(EventName.GATE_PASSED)] == ["syntax"], "of the revision"


@pytest.mark.parametrize("blank", ["  \n", "\u3000", "\u00a0"])
@pytest.mark.parametrize("again", [Decision(True), Decision(False, reason="declined")], ids=["yes", "no"])
async def test_no_with_comments_of_blanks_writes_nothing_and_keeps_the_decisions(
    bench: Bench, blank: str, again: Decision
) -> None:
    rounds(bench)
    bench.front.answer, left = decisions(say([1], [0, 2], {"text": blank}), again)
    result = await bench.run("refactor", "shout", **refactored(bench))
    assert next(left, None) is None, "it is asked again"
    assert len(bench.server.requests) == 2, "no model is asked"
    _, second = reviews(bench)
    assert "the comments are empty" in second.message
    assert second.payload["files"][0]["decided"] == {"accepted": [1], "rejected": [0, 2]}
    written = b"one\ntwo\nTHREE\nfour\nfive\n"
    assert bench.fingerprint()["a.txt"] == (written if again.accepted else WORDS.encode())
    assert result.ok is again.accepted


async def test_rejections_without_a_word_ask_no_model(bench: Bench) -> None:
    rounds(bench)
    bench.front.answer, _ = decisions(say([1], [0, 2]))
    await bench.succeed("refactor", "shout", **refactored(bench))
    assert len(bench.server.requests) == 2
    assert bench.fingerprint()["a.txt"] == b"one\ntwo\nTHREE\nfour\nfive\n"


async def test_a_correction_that_leaves_the_error_out_is_not_undone(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n\ny = 2\n")
    analyzed(bench, "```python\nx = (\n\ny = 3\n```")
    bench.server.answers("What was accepted of it brings new", "```python\nx = 1\n\ny = 3\n```")
    bench.front.answer, _ = decisions(Decision(True), Decision(True), override=Decision(False, "fix"))
    await bench.succeed("refactor", "simplify", context=bench.context("a.py", 1, 3))
    assert [one.kind for one in bench.front.requests].count("override") == 1
    assert bench.fingerprint()["a.py"] == b"x = 1\n\ny = 3\n"
    assert notice(bench, "a.py:1: the correction leaves out an accepted hunk")


def about_files(*comments: dict[str, Any]) -> Decision:
    """Accept all files of `planned`."""
    files = [{"path": path, "accepted": [0]} for path in ("a.py", "lib/b.py", "old.py", "m.py")]
    return Decision(not comments, {"files": files, "comments": [*comments]})


def notice(bench: Bench, words: str) -> bool:
    return any(words in one["message"] for one in bench.front.data(EventName.NOTICE))


@pytest.mark.slow
@pytest.mark.parametrize("path", ["old.py", "m.py"])
async def test_a_comment_on_a_file_without_a_text_of_the_models_is_kept(bench: Bench, path: str) -> None:
    planned(bench)
    comment = because(0, FIRST, path)
    bench.front.answer, _ = decisions(about_files(comment), Decision(True))
    await bench.succeed("multi_file", "move f into a library")
    first, again = reviews(bench)
    assert again.payload["comments"] == [comment]
    assert "revision" not in again.payload, "it is the same"
    assert [file["hunks"] for file in again.payload["files"]] == [
        file["hunks"] for file in first.payload["files"]
    ]
    assert notice(bench, f"{path}: the model writes no text here")
    assert len(bench.server.requests) == 3


@pytest.mark.slow
async def test_a_file_that_was_revised_is_kept_where_another_fails(bench: Bench) -> None:
    planned(bench)
    bench.server.answers(FIRST, "```python\nfrom lib.b import f\n\nprint(f())\n```")
    bench.server.fails(SECOND, 400)
    failing, kept = because(0, SECOND, "lib/b.py"), because(0, FIRST, "old.py")
    said = about_files(because(0, FIRST, "a.py"), failing, kept)
    bench.front.answer, _ = decisions(said, Decision(True))
    await bench.succeed("multi_file", "move f into a library")
    _, again = reviews(bench)
    assert opened(again) == ["print(f())"], "what failed is as it was, with its decision"
    assert again.payload["comments"] == [failing, kept]
    assert notice(bench, "could not revise all of it: lib/b.py: ")
    assert bench.fingerprint()["a.py"] == b"from lib.b import f\n\nprint(f())\n"
    assert bench.fingerprint()["lib/b.py"] == b"def f():\n    return 1\n"


MALFORMED: dict[str, tuple[Any, str]] = {
    "no such hunk": ([because(7, "x")], "a.txt has 3 hunks, and number 7 was commented on"),
    "no such file": ([because(0, "x", "b.txt")], "there is a comment on b.txt, which was not shown"),
    "no text": ([{"path": "a.txt"}], "comments.0.text: field required"),
}


@pytest.mark.parametrize(("comments", "why"), MALFORMED.values(), ids=MALFORMED)
async def test_comments_on_nothing_that_was_shown_are_refused(bench: Bench, comments: Any, why: str) -> None:
    rounds(bench)
    bench.front.answer, _ = decisions(say([1], [], *comments), say([1], []))
    await bench.succeed("refactor", "shout", **refactored(bench))
    assert why in reviews(bench)[1].message
    assert len(bench.server.requests) == 2


# plans

SAID = "Leave the library out of it, nobody else would use what is in there, and change a.py in place"
AGREED = "The person agreed. Carry it out completely."
FEWER = [{"action": "modify", "path": "a.py", "why": "define f here"}]


def plans_asked(bench: Bench) -> list[ConfirmationRequest]:
    return [request for request in bench.front.requests if request.kind == "plan"]


def comments_on_plan(request: ConfirmationRequest) -> Decision:
    """Comment on the first plan, and accept everything after it."""
    if request.kind != "plan" or "revision" in request.payload or "comments" in request.payload:
        return Decision(True)
    files = [file for file in request.payload["files"] if file["path"] != "m.py"]
    return Decision(False, {"files": files, "comments": [{"path": "lib/b.py", "text": SAID}]})


@pytest.mark.slow
@pytest.mark.parametrize("tools", [False, True])
async def test_a_comment_on_a_plan_has_it_made_anew_in_its_conversation(bench: Bench, tools: bool) -> None:
    planned(bench)
    if tools:
        bench.server.forgets("Which files have to be")
        files = [
            {"action": "modify", "path": "a.py", "why": "use it"},
            {"action": "create", "path": "lib/b.py", "why": "the library"},
            {"action": "modify", "path": "m.py", "why": "name it"},
        ]
        bench.server.calls("Which files have to be", "submit_plan", {"files": files}, times=1)
        bench.server.calls(SAID, "submit_plan", {"files": FEWER}, times=1)
        edit(bench, "a.py", "from old import f", "def f(): ...", on=AGREED)
        hand_in(bench, on=AGREED)
    else:
        bench.server.answers(SAID, {"files": FEWER})
    bench.front.answer = comments_on_plan
    result = await bench.succeed("multi_file", "move f into a library")
    first, second = plans_asked(bench)
    assert (first.payload["revisable"], second.payload["revision"], second.payload["changed"]) == (
        True,
        2,
        ["a.py"],
    )
    assert second.message == "Revision 2. Continue with 1 file?"
    told = next(
        one["messages"] for one in bench.server.requests if SAID in str(one["messages"][-1]["content"])
    )
    assert f"on lib/b.py: {SAID}" in told[-1]["content"]
    assert "m.py" not in told[-1]["content"], "the plan as the person has it"
    assert "Which files have to be" in str(told[:-1])
    if tools:
        assert AGREED in str(bench.server.requests[-1])
    assert set(result.as_json()["results"]["execute"]["files"]) == {"a.py"}


@pytest.mark.slow
async def test_a_plan_that_cannot_be_made_anew_is_asked_about_as_it_was(bench: Bench) -> None:
    planned(bench)
    bench.server.fails(SAID, 400)
    bench.front.answer = comments_on_plan
    await bench.succeed("multi_file", "move f into a library")
    _, again = plans_asked(bench)
    assert again.payload["comments"] == [{"path": "lib/b.py", "text": SAID}]
    assert "m.py" not in {file["path"] for file in again.payload["files"]}, "as the person left it"
    assert notice(bench, "the model could not revise it, and the question is open again")


MOVED = "the text changed here, and your edit is undecided again for the current text"


async def test_what_was_typed_for_lines_that_change_on_disk_is_merged_and_reviewed_again(
    bench: Bench,
) -> None:
    rounds(bench)
    mine = {"hunk": 0, "old": ["one"], "new": ["uno"]}
    first = Decision(
        True, {"files": [{"path": "a.txt", "accepted": [0, 1], "rejected": [2], "edited": [mine]}]}
    )
    given = iter([first, Decision(True)])

    def answer(request: ConfirmationRequest) -> Decision:
        if request.kind != "review":
            return Decision(True)
        if len(reviews(bench)) == 1:
            bench.write("a.txt", WORDS.replace("one", "one!").replace("two", "two\nnew"))
        return next(given)

    bench.front.answer = answer
    await bench.succeed("refactor", "shout", context=bench.context("a.txt", 1, 5))
    _, again = reviews(bench)
    assert again.message == "Apply the change to a.txt (+3 -3 lines)?", "the model made no revision"
    (file,) = again.payload["files"]
    assert file["before"] == "one!\ntwo\nnew\nthree\nfour\nfive"
    assert file["hunks"][0] == {"start": 0, "old": ["one!"], "new": ["uno"]}
    assert file["decided"] == {"accepted": [1], "rejected": [2]}
    assert again.payload["warnings"] == [f"a.txt:1: {MOVED}"]
    assert bench.fingerprint()["a.txt"] == b"uno\ntwo\nnew\nTHREE\nfour\nfive\n"


async def test_a_yes_to_all_after_a_round_of_decisions_is_asked_again_where_the_file_changed(
    bench: Bench,
) -> None:
    rounds(bench)
    given = iter([say([1], [2], because(0, FIRST)), Decision(True), Decision(True)])

    def answer(request: ConfirmationRequest) -> Decision:
        if request.kind != "review":
            return Decision(True)
        if len(reviews(bench)) == 2:
            bench.write("a.txt", WORDS.replace("one", "one!"))
        return next(given)

    bench.front.answer = answer
    await bench.succeed("refactor", "shout", context=bench.context("a.txt", 1, 5))
    assert len(reviews(bench)) == 3
    assert reviews(bench)[2].payload["files"][0]["decided"] == {"accepted": [1], "rejected": [2]}
    assert bench.fingerprint()["a.txt"] == b"ein\ntwo\nTHREE\nfour\nfive\n"


async def test_accepted_changes_that_the_person_made_on_disk_are_done(bench: Bench) -> None:
    rounds(bench)

    def answer(request: ConfirmationRequest) -> Decision:
        if request.kind != "review":
            return Decision(True)
        bench.write("a.txt", WORDS.upper().replace("TWO", "two").replace("FOUR", "four"))
        return say([0, 1, 2], [])

    bench.front.answer = answer
    await bench.succeed("refactor", "shout", context=bench.context("a.txt", 1, 5))
    assert len(reviews(bench)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("tools", [True])
async def test_a_revision_does_not_tell_the_instructions_again(bench: Bench) -> None:
    own = "You are careful.\n---\nWhich files have to change? {{ prompt }}\n"
    bench.write(".tideate/prompts/multi_file_plan.md", own)
    raise_prices(bench)
    hand_in(bench)
    hand_in(bench, on=FIRST)
    rejected = [{"path": path, "accepted": [], "rejected": [0]} for path in ("shop/price.py", "shop/cart.py")]
    no = Decision(False, {"files": rejected, "comments": [{"text": FIRST}]})
    bench.front.answer, _ = decisions(no, Decision(True))
    await bench.run("multi_file", "raise it")
    asked = [one["content"] for one in bench.server.requests[-1]["messages"] if one["role"] == "user"]
    assert asked[-1].startswith("The person has reviewed your change.")
