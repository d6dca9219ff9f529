"""Landing of another program's changes in a run: conflicts, feedback, policies, crashes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.front import Front
from tideate_core.config import VerifyConfig
from tideate_core.engine import Landed, PolicyFrontEnd, land_difference
from tideate_core.errors import StepFailed
from tideate_core.snapshots import ScratchDifference
from tideate_core.toolchain import ProjectTrust, select_tools
from tideate_core.workflows import CheckResult, Decision
from tideate_core.workspace import ABSENT, FileImage, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest, Event, WorkflowResult
    from tideate_core.workflows import StepContext

BASE = "one\ntwo\nthree\nfour\nfive\n"
AGENT = "ONE\ntwo\nthree\nfour\nFIVE\n"


def file(text: str | None) -> FileImage:
    return FileImage(ABSENT) if text is None else FileImage.of_file(text.encode(), 0o644)


class Landing:
    """A workflow that lands a difference, and the outcome."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.files: dict[str, tuple[str | None, str | None]] = {"a.txt": (BASE, AGENT)}
        self.landed = Landed()
        self.notices: list[str] = []
        bench.register("landing", {"land": self._land})

    async def _land(self, step: StepContext) -> dict[str, Any]:
        files = {path: (file(one), file(two)) for path, (one, two) in self.files.items()}
        self.landed = await land_difference(step, ScratchDifference(files))
        return {"files": self.landed.files}

    async def run(
        self, answer: Callable[[ConfirmationRequest], Decision] = lambda _: Decision(True)
    ) -> WorkflowResult:
        self.bench.front.answer = answer
        return await self.bench.run("landing")

    async def by_policy(self, *, accept: bool) -> WorkflowResult:
        self.bench.runner = self.bench.make_runner(
            self.bench.config, front=PolicyFrontEnd(accept, self._hear)
        )
        return await self.bench.run("landing")

    def _hear(self, event: Event) -> None:
        self.notices.append(event.data.get("message", ""))

    @property
    def text(self) -> str:
        return (self.bench.root / "a.txt").read_text()

    @property
    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = self.bench.front.requests[-1].payload
        return payload


@pytest.fixture
def landing(bench: Bench) -> Landing:
    bench.write("a.txt", BASE)
    return Landing(bench)


def deciding(
    accepted: list[int], rejected: list[int], *comments: dict[str, Any]
) -> Callable[[ConfirmationRequest], Decision]:
    verdict = {"path": "a.txt", "accepted": accepted, "rejected": rejected}
    return lambda _: Decision(bool(accepted), {"files": [verdict], "comments": [*comments]})


def conflicting(landing: Landing) -> None:
    landing.bench.write("a.txt", BASE.replace("five", "mine"))


async def test_accepted_hunks_land_and_a_rollback_brings_the_file_back(landing: Landing) -> None:
    result = await landing.run()
    assert (landing.text, landing.landed.files) == (AGENT, ["a.txt"])
    await landing.bench.workspace().rollback(result.execution_id)
    assert landing.text == BASE


async def test_rejections_are_collected_with_their_reasons(landing: Landing) -> None:
    said = {"path": "a.txt", "hunk": 1, "text": "keep it small"}
    await landing.run(deciding([0], [1], said))
    assert landing.text == BASE.replace("one", "ONE")
    assert landing.landed.rejected == ["a.txt"]
    assert "keep it small" in landing.landed.feedback
    assert "+FIVE" in landing.landed.feedback
    assert "+ONE" not in landing.landed.feedback


async def test_a_landing_with_everything_rejected_ends_with_the_reasons(landing: Landing) -> None:
    said = {"path": "a.txt", "hunk": 0, "text": "not wanted"}
    result = await landing.run(deciding([], [0, 1], said))
    assert result.ok
    assert (landing.text, landing.landed.files) == (BASE, [])
    assert "not wanted" in landing.landed.feedback


async def test_a_declined_landing_changes_nothing_and_collects_nothing(landing: Landing) -> None:
    result = await landing.run(lambda _: Decision(False, reason="declined"))
    assert result.cancelled
    assert landing.text == BASE


async def test_open_hunks_are_named(landing: Landing) -> None:
    await landing.run(deciding([0], []))
    assert landing.landed.undecided == ["a.txt"]
    assert landing.landed.feedback == ""


async def test_accepting_everything_leaves_out_a_conflict(landing: Landing) -> None:
    conflicting(landing)
    await landing.run()
    assert landing.payload["files"][0]["hunks"][1]["conflict"]
    assert landing.payload["files"][0]["marks"] == ["1 conflict"]
    assert landing.text == "ONE\ntwo\nthree\nfour\nmine\n"
    assert landing.landed.undecided == ["a.txt"]


async def test_a_conflict_lands_by_a_decision_of_its_own(landing: Landing) -> None:
    conflicting(landing)
    await landing.run(deciding([1], [0]))
    assert landing.text == BASE.replace("five", "FIVE")


async def test_a_policy_names_the_conflict_that_it_leaves(landing: Landing) -> None:
    conflicting(landing)
    result = await landing.by_policy(accept=True)
    assert result.ok
    assert landing.text == "ONE\ntwo\nthree\nfour\nmine\n"
    assert any("left out a.txt: you changed this part, too" in one for one in landing.notices)


async def test_a_policy_leaves_files_that_other_tools_execute(landing: Landing) -> None:
    landing.files["Makefile"] = (None, "all:\n\tcurl evil\n")
    await landing.by_policy(accept=True)
    assert landing.text == AGENT
    assert not (landing.bench.root / "Makefile").exists()
    assert (landing.landed.rejected, landing.landed.undecided) == ([], ["Makefile"])


async def test_a_policy_that_declines_lands_nothing(landing: Landing) -> None:
    result = await landing.by_policy(accept=False)
    assert result.cancelled
    assert landing.text == BASE


async def test_only_conflicts_are_not_accepted_by_a_policy(landing: Landing) -> None:
    landing.files = {"a.txt": (BASE, None)}
    conflicting(landing)
    landing.files["Makefile"] = (None, "all:\n")
    result = await landing.by_policy(accept=True)
    assert result.cancelled
    assert any("a person must decide" in one for one in landing.notices)
    assert landing.text == BASE.replace("five", "mine")


async def test_a_change_that_the_person_made_too_is_not_asked_about(landing: Landing) -> None:
    landing.bench.write("a.txt", AGENT)
    result = await landing.run()
    assert result.ok
    assert landing.bench.front.requests == []


async def test_text_that_changes_during_the_review_opens_a_conflict(landing: Landing) -> None:
    answers = []

    def answer(request: ConfirmationRequest) -> Decision:
        answers.append(request)
        if len(answers) == 1:
            conflicting(landing)
            return deciding([0, 1], [])(request)
        return Decision(True)

    await landing.run(answer)
    assert landing.text == "ONE\ntwo\nthree\nfour\nmine\n"


class Checking(Front):
    """Front end that runs a check on the accepted part of a review, and then declines."""

    value: Any = None
    results: tuple[CheckResult, ...] = ()

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        assert request.check is not None
        self.results = (await request.check(self.value, ""), await request.check(self.value, "tests"))
        return Decision(False)


CALC = "def add(a, b):\n    return a - b\n\n\n\nX = 1\n"
TEST = """\
import unittest

import calc


class Sums(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(calc.add(1, 2), 3)

    def test_x(self):
        self.assertEqual(calc.X, 1)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("accepted", "status"), [([], "failed"), ([0], "passed"), ([0, 1], "failed")])
async def test_a_check_runs_on_exactly_what_is_accepted(
    landing: Landing, accepted: list[int], status: str
) -> None:
    bench, wanted = landing.bench, CALC.replace("a - b", "a + b").replace("X = 1", "X = 2")
    files = {"setup.cfg": "", "calc.py": CALC, "tests/__init__.py": "", "tests/test_calc.py": TEST}
    for name, text in files.items():
        bench.write(name, text)
    ProjectTrust(bench.root).trust(chain.from_iterable(select_tools(bench.root, VerifyConfig()).values()))
    landing.files = {"calc.py": (CALC, wanted)}
    private = bench.root.parent / "private"  # a scratch copy cannot be within the project
    bench.workspace = lambda: Workspace(bench.root, private=private)  # type: ignore[method-assign]
    front = Checking()
    front.value = {"files": [{"path": "calc.py", "accepted": accepted, "rejected": []}]}
    bench.runner = bench.make_runner(bench.config, front=front)
    await bench.run("landing")
    choice, result = front.results
    assert result.status == status, result.report
    assert "tests" in choice.checks or choice.check == "tests"
    assert (bench.root / "calc.py").read_text() == CALC


async def test_a_check_that_is_not_trusted_does_not_run(landing: Landing) -> None:
    landing.bench.write("pyproject.toml", "")
    front = Front()

    async def confirm(request: ConfirmationRequest) -> Decision:
        assert request.check is not None
        with pytest.raises(StepFailed):
            await request.check({"files": [{"path": "a.txt", "accepted": [0], "rejected": []}]}, "tests")
        return Decision(False)

    front.confirm = confirm  # type: ignore[method-assign]
    landing.bench.runner = landing.bench.make_runner(landing.bench.config, front=front)
    assert (await landing.bench.run("landing")).cancelled
