"""Random walk through review rounds of files that are not open in an editor and change on disk.

Each step is an answer: decisions, edits, comments that cause a revision, or changes on disk before it.
Instead of
an answer, the run may be left or its process killed, at the question or after the answer; files may
change on
disk until the run is resumed. `REVIEW_STEPS` and `REVIEW_SEED` set length and seed.
"""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.reviewing import Ended, Here, Question, Separate
from tideate_core.engine import RunRequest, kept_review, write_draft
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.harness.bench import Bench
    from tests.harness.model_rules import Body

pytestmark = pytest.mark.slow

STEPS = int(os.environ.get("REVIEW_STEPS", "12"))
SEED = int(os.environ.get("REVIEW_SEED", "3"))
HUNKS = {"a.txt": 5, "b.txt": 3}
PLAN = [(path, "modify") for path in HUNKS] + [("new.txt", "create"), ("old.txt", "delete")]
BORDERS = [f"line {row}" for row in range(0, 25, 5)]
"""Lines between the hunks."""
Place = tuple[str, str]
"""File and first word of a hunk's line; empty for a whole file."""


def word(line: str) -> str:
    return line.partition(":")[0]


class Walk:
    def __init__(self, bench: Bench, seed: int, *, separate: bool = False) -> None:
        self.bench, self.random, self.separate = bench, random.Random(seed), separate
        self.step = 0
        self.left = 0
        self.log: list[str] = []
        self.unanswered: tuple[Any, ...] | None = None
        self.drafted: dict[tuple[int, int], str] = {}
        self.typed: dict[tuple[int, int], list[str]] = {}
        """Typed lines of the open question, by file and hunk."""
        self.disk = {
            path: [f"{row // 5}: base" if row % 5 == 2 else f"line {row}" for row in range(count * 5)]
            for path, count in HUNKS.items()
        }
        files = [{"action": action, "path": path, "why": "it is due"} for path, action in PLAN]
        bench.server.answers("Which files have to be", {"files": files})
        for path in HUNKS:
            bench.server.answers(f"Change {path}", partial(self.proposal, path))
        bench.server.answers("Write the new file new.txt", partial(self.proposal, "new.txt"))

    def proposal(self, path: str, _body: Body) -> str:
        """Return the model's answer: the whole file, with one changed line per hunk."""
        lines = [self.proposed.get((path, word(line)), line) for line in self.base.get(path, [])]
        return "```\n{}\n```".format("\n".join(lines or [self.proposed[path, ""]]))

    def write(self, path: str) -> None:
        self.bench.write(path, "".join(f"{line}\n" for line in self.disk[path]))

    # one run

    async def run(self) -> None:
        """Review one proposal until a change is written."""
        bench = self.bench
        self.base = {path: list(lines) for path, lines in self.disk.items()}
        places = [(path, str(at)) for path, count in HUNKS.items() for at in range(count)]
        self.proposed = {place: f"{place[1]}: new {self.step}" for place in places}
        self.proposed["new.txt", ""] = f"new {self.step}"
        for path in HUNKS:
            self.write(path)
        bench.write("old.txt", "gone\n")
        (bench.root / "new.txt").unlink(missing_ok=True)
        self.decided: dict[Place, tuple[str, str]] = {}
        self.said: set[Place] = set()
        self.stood: dict[Place, list[str]] = {}
        self.request = RunRequest(
            name="multi_file", prompt="do it", execution_id=f"{self.random.getrandbits(128):032x}"
        )
        await self.begin()
        try:
            asked = await self.reviewing.question()
            while isinstance(asked, Question):
                self.step += 1
                self.check_either(asked.payload)
                leave = self.random.random() < (0.3 if self.left else 1)
                asked = await (self.leave_at(asked) if leave else self.answered(asked))
        finally:
            await self.reviewing.leave()
        self.check_written(asked)

    async def begin(self) -> None:
        """Start or continue the run."""
        self.reviewing: Here | Separate = (
            await Separate.begin(self.bench, self.request)
            if self.separate
            else Here(self.bench, self.request)
        )

    async def again(self) -> Question | Ended:
        """End the process, and continue in another one."""
        self.left += 1
        await self.reviewing.leave()
        await self.begin()
        return await self.reviewing.question()

    async def leave_at(self, review: Question) -> Question | Ended:
        """Leave the run after some decisions, change files, and continue."""
        self.draft(review)
        for _ in range(self.random.choice([0, 1, 2])):
            self.change_on_disk()
        self.log.append(f"left at the question, with {self.drafted} {self.typed}")
        asked = await self.again()
        assert isinstance(asked, Question), asked
        assert asked.payload == review.payload, "it is asked again as it was"
        self.check_drafted(asked)
        self.decided = {**self.shown}
        return asked

    async def answered(self, review: Question) -> Question | Ended:
        """Answer; the process may be killed at any point afterwards."""
        self.drafted, self.typed = {}, {}
        self.unanswered = {**self.decided}, {*self.heard}, {**self.stood}, {**self.proposed}
        await self.reviewing.answer(self.answer(review.payload))
        if isinstance(self.reviewing, Here) or (self.left != 1 and self.random.random() < 0.5):
            self.unanswered = None
            return await self.reviewing.question()
        asked = await self.reviewing.pass_(self.random.randrange(4))
        if asked is not None:
            self.unanswered = None
            return asked
        self.log.append("killed behind the answer")
        return await self.again()

    def draft(self, review: Question) -> None:
        """Record decisions on some hunks like a front end."""
        for file, shown in enumerate(review.payload["files"]):
            for at, (place, hunk) in enumerate(self.units(shown)):
                if self.random.random() < 0.3:
                    self.drafted[file, at] = state = self.random.choice("ar")
                    decision: list[Any] = [file + 1, at + 1, state, None]
                    if state == "a" and place[0] in HUNKS and self.random.random() < 0.7:
                        self.typed[file, at] = [f"{place[1]}: drafted {self.step}"]
                        decision += [None, {"old": hunk["old"], "new": self.typed[file, at]}]
                    write_draft(Path(review.draft), [{"decided": [decision]}])

    # what is shown

    def units(self, file: dict[str, Any]) -> list[tuple[Place, dict[str, Any]]]:
        """Return the hunks of a shown file, with the user's replacement lines."""
        if file["path"] not in HUNKS:
            hunks = file["hunks"] or [{"start": 0, "old": [], "new": []}]
            named = [((file["path"], ""), hunks[0])]
        else:
            named = [((file["path"], word([*hunk["old"], *hunk["new"]][0])), hunk) for hunk in file["hunks"]]
        edited = {one["hunk"]: one["new"] for one in file.get("decided", {}).get("edited", ())}
        return [
            (place, {**hunk, "new": edited.get(at, hunk["new"])}) for at, (place, hunk) in enumerate(named)
        ]

    def check_either(self, payload: Mapping[str, Any]) -> None:
        """Check a review; after a kill, an answer is recorded completely or not at all."""
        unanswered, self.unanswered = self.unanswered, None
        try:
            self.check(payload)
        except AssertionError:
            if unanswered is None:
                raise
            self.log.append("the answer had not been written down")
            self.decided, self.said, self.stood, self.proposed = unanswered
            self.check(payload)

    def check_drafted(self, review: Question) -> None:
        """Check that drafted decisions and edits survived the interruption."""
        kept = kept_review(Path(review.draft))
        for (file, hunk), state in self.drafted.items():
            place = f"hunk {hunk} of file {file}"
            states = kept.accepted if state == "a" else kept.rejected
            assert hunk in states.get(file, ()), f"{place} is not decided any more"
            edit = kept.edited.get(file, {}).get(hunk, {"new": None})
            typed = self.typed.get((file, hunk)) if state == "a" else None
            assert edit["new"] == typed, f"{place} became {edit}"

    def check(self, payload: Mapping[str, Any]) -> None:
        """Check that decisions hold unless their line changed or has a comment, and edits remain."""
        shown: dict[Place, tuple[str, str]] = {}
        stood, self.stood = self.stood, {}
        for file in payload["files"]:
            known = file.get("decided", {"accepted": [], "rejected": []})
            for at, (place, hunk) in enumerate(self.units(file)):
                state = next((name for name in ("accepted", "rejected") if at in known[name]), "open")
                shown[place] = state, "\n".join(hunk["new"])
                self.stood[place] = hunk["old"]
        for place, (state, text) in self.decided.items():
            line = next((line for line in self.disk.get(place[0], []) if word(line) == place[1]), None)
            same = line is None or stood.get(place) == self.stood.get(place) == [line]
            if line != text:
                self.check_unit(place, state, text, shown.get(place), same=same)
        self.shown = shown
        self.heard, self.said = self.said, set()

    def check_unit(
        self, place: Place, state: str, text: str, now: tuple[str, str] | None, *, same: bool
    ) -> None:
        """Compare a shown hunk with its decision.

        :param same: the hunk's line is unchanged, also on disk.
        """
        mine, said = " mine " in text, place in self.said
        if state == "rejected":
            # of what the person wrote and rejected the model's own text may be proposed again
            assert mine or said or not same or now == (state, text), f"{place}: rejected became {now}"
            return
        if state == "open" and not (mine or same):
            return  # it has no place any more, and nobody took it
        if mine or not said:
            assert now is not None, f"{place}: {text!r} is gone"
            assert now[1] == text, f"{place}: {text!r} became {now[1]!r}"
        if same and not said:
            assert now is not None and now[0] == state, f"{place}: {state} became {now}"

    # what the person does

    def change_on_disk(self) -> None:
        path = self.random.choice([*HUNKS])
        lines = self.disk[path]
        if self.random.random() < 0.5:
            row = self.random.choice([*(at for at, line in enumerate(lines) if line in BORDERS), len(lines)])
            lines.insert(row, f"typed {self.step}")
        else:
            row = self.random.choice([at for at, line in enumerate(lines) if ":" in line])
            lines[row] = f"{word(lines[row])}: disk {self.step}"
        self.log.append(f"disk {path}:{row}")
        self.write(path)

    def answer(self, payload: Mapping[str, Any]) -> Decision:
        self.decided, verdicts = {}, []
        for file in payload["files"]:
            verdict: dict[str, Any] = {"path": file["path"], "accepted": [], "rejected": [], "edited": []}
            for at, (place, hunk) in enumerate(self.units(file)):
                self.decide(verdict, at, place, hunk)
            verdicts.append(verdict)
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.change_on_disk()
        comments = self.comments(payload) if payload["revisable"] else []
        if not (comments or any(file["accepted"] for file in verdicts)):
            verdicts[0]["rejected"] = [at for at in verdicts[0]["rejected"] if at]
            verdicts[0]["accepted"] = [0]
            place, hunk = self.units(payload["files"][0])[0]
            self.decided[place] = "accepted", "\n".join(hunk["new"])
            verdicts[0]["edited"] = [one for one in verdicts[0]["edited"] if one["hunk"]]
        self.log.append(f"{self.decided} {comments}")
        return Decision(not comments, {"files": verdicts, "comments": comments})

    def decide(self, verdict: dict[str, Any], at: int, place: Place, hunk: dict[str, Any]) -> None:
        state, text = self.shown[place]
        if state == "open" or self.random.random() < 0.3:
            state = self.random.choice(["accepted", "accepted", "rejected", "open"])
        if state != "rejected" and self.random.random() < 0.3 and place[0] != "old.txt":
            text = f"{place[1]}: mine {self.step}" if place[1] else f"new mine {self.step}"
        if state != "open":
            verdict[state].append(at)
        if " mine " in text and state != "rejected":
            verdict["edited"].append({"hunk": at, "old": hunk["old"], "new": [text]})
        self.decided[place] = state, text

    def comments(self, payload: Mapping[str, Any]) -> list[dict[str, Any]]:
        paths = [file["path"] for file in payload["files"] if file["path"] != "old.txt"]
        if not paths or self.random.random() < 0.5:
            return []
        path = self.random.choice(paths)
        units = self.units(next(file for file in payload["files"] if file["path"] == path))
        hunk = self.random.randrange(len(units))
        place, _ = units[hunk]
        self.proposed[place] = f"{place[1]}: again {self.step}" if place[1] else f"again {self.step}"
        self.said.add(place)
        return [{"path": path, "hunk": hunk, "text": f"comment {self.step}"}]

    # what is written

    def check_written(self, result: Ended) -> None:
        assert result.ok, result.error
        accepted = {place: text for place, (state, text) in self.decided.items() if state == "accepted"}
        for path, lines in self.disk.items():
            self.disk[path] = [accepted.get((path, word(line)), line) for line in lines]
            written = (self.bench.root / path).read_text().splitlines()
            assert written == self.disk[path], f"{path} as it was written"
        new = self.bench.root / "new.txt"
        assert new.exists() is (("new.txt", "") in accepted)
        assert not new.exists() or new.read_text().strip() == accepted["new.txt", ""]
        assert (self.bench.root / "old.txt").exists() is (("old.txt", "") not in accepted)
        self.log.append("written")


async def go(walk: Walk, steps: int) -> None:
    try:
        while walk.step < steps:
            await walk.run()
    except BaseException as error:
        error.add_note(f"REVIEW_SEED={SEED}, {walk.step} steps:\n" + "\n".join(walk.log[-12:]))
        raise


async def test_a_random_walk_of_rounds_loses_no_byte_and_no_decision(bench: Bench) -> None:
    await go(Walk(bench, SEED), STEPS)


@pytest.mark.concurrency
async def test_a_walk_whose_processes_are_killed_loses_no_byte_and_no_decision(bench: Bench) -> None:
    walk = Walk(bench, SEED, separate=True)
    await go(walk, STEPS // 4)
    assert walk.left
