"""Trusted checks run on a scratch copy with the staged edits."""

from __future__ import annotations

import json
import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.tools.project import Project
from tests.harness.project import write_files
from tideate_core.agents.tools import check_commands, snippets
from tideate_core.agents.tools.check_commands import runnable_checks
from tideate_core.agents.tools.check_reports import REPEATED_OUTPUT
from tideate_core.agents.tools.table import tools_named
from tideate_core.agents.tools.tool import ToolContext, fit_tools, offer_tools
from tideate_core.config import VerifyConfig
from tideate_core.errors import ScratchUnavailable, ToolError
from tideate_core.project import CONFIG_NAME, Trust
from tideate_core.snapshots.scratch.overlay import Overlay
from tideate_core.toolchain import Check, ProjectTrust, select_tools
from tideate_core.workflows import Decision
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.adapters import OfferedTool

TEST = """\
import unittest

import calc


class Sums(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(calc.add(1, 2), 3)

    def test_none(self):
        self.assertEqual(calc.add(0, 0), 0)
"""
FILES = {
    "setup.cfg": "",
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/__init__.py": "",
    "tests/test_calc.py": TEST,
}
PYTEST = {
    "pyproject.toml": "",
    "test_a.py": "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n",
    "test_b.py": "def test_three():\n    pass\n",
}
YES = Decision(True)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    project = Project(root, FILES, decisions=(YES,))
    trust(root)
    return project


def trust(root: Path) -> None:
    ProjectTrust(root).trust(chain.from_iterable(select_tools(root, VerifyConfig()).values()))


async def run(project: Project, check: str | None = None, **more: Any) -> str:
    return await project.call("run_check", check=check, **more)


def fixed() -> FileChange:
    return FileChange("calc.py", "modify", None, "def add(a, b):\n    return a + b")


@pytest.mark.slow
async def test_a_check_sees_staged_edits_and_the_project_stays_as_it_is(project: Project) -> None:
    failed = await run(project, "tests")
    first, *lines = failed.split("\n")
    assert first.startswith("tests failed: `")
    assert "1 passed, 1 failed" in first
    assert first.endswith("on a scratch copy")
    assert any(line.startswith("tests/test_calc.py:8: ") and "test_sum" in line for line in lines)
    assert "AssertionError" in failed
    assert project.step.questions == []
    await project.stage(fixed())
    passed = await run(project, "tests")
    assert passed.startswith("tests passed: ")
    assert "2 passed" in passed
    assert passed.endswith("on a scratch copy with 1 staged file")
    await run(project, "tests")
    assert len(project.step.questions) == 1
    assert (project.root / "calc.py").read_text() == FILES["calc.py"]
    assert not list(project.root.rglob("__pycache__"))


@pytest.mark.slow
async def test_some_tests_are_run_by_file_or_name_also_new_ones(project: Project) -> None:
    assert "1 passed" in await run(project, "tests", pattern="test_none")
    new = TEST.replace("0, 0), 0", "2, 2), 4").replace("Sums", "More")
    await project.stage(fixed(), FileChange("tests/test_more.py", "create", None, new))
    assert "2 passed" in await run(project, "tests", files=["tests/test_more.py"])
    assert "4 passed" in await run(project, "tests")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"files": ["../x.py"]}, "outside the project"),
        ({"files": ["tests/no.py"]}, "no file of tests"),
        ({"files": ["--help"]}, "no file of tests"),
        ({"pattern": "--help"}, "the pattern is not one"),
        ({"pattern": "a; touch x"}, "the pattern is not one"),
    ],
)
@pytest.mark.attack
async def test_a_selection_is_no_option_and_stays_inside(
    project: Project, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        await run(project, "tests", **arguments)


def with_pytest(root: Path, *command: str, **step: Any) -> Project:
    project = Project(root, PYTEST, **step)
    tests = json.dumps([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *command])
    write_files(root, {".tideate/config.toml": f"[verify]\ntests = {tests}\n"})
    Trust(root).trust(CONFIG_NAME, (root / ".tideate/config.toml").read_bytes())
    return project


async def every_offered(project: Project, name: str = "run_check") -> list[OfferedTool]:
    context = ToolContext(project.step, project.staged)  # type: ignore[arg-type]
    return offer_tools(await fit_tools(tools_named([name], editor=False), context), context)


async def offered(project: Project, name: str = "run_check") -> OfferedTool:
    (tool,) = await every_offered(project, name)
    return tool


@pytest.mark.slow
async def test_a_configured_pytest_is_limited_to_files_and_names(tmp_path: Path) -> None:
    project = with_pytest(tmp_path)
    tool = await offered(project)
    assert set(tool.schema["properties"]) == {"check", "files", "pattern"}
    assert "names joined by `and`" in tool.schema["properties"]["pattern"]["description"]
    assert tool.schema["properties"]["check"]["enum"] == ["tests"]
    assert "3 passed" in await run(project, "tests")
    assert "2 passed" in await run(project, "tests", files=["test_a.py"])
    told = await run(project, "tests", files=["test_a.py"], pattern="one")
    assert "1 passed" in told
    assert "-k=one" in told.split("`")[1]
    assert "test_a.py" in told.split("`")[1]


REPEATED = """
import unittest, warnings


class T(unittest.TestCase):
    def test_x(self):
        warnings.warn("a warning of the test")
        for number in range(3):
            with self.subTest(f"{number} with a name that makes the heading longer than the line has room"):
                self.assertEqual(number, 0, "said for " + str(number))
"""


@pytest.mark.slow
async def test_what_failures_say_is_not_said_again(tmp_path: Path) -> None:
    project = with_pytest(tmp_path)
    write_files(project.root, {"test_b.py": REPEATED})
    told = await run(project, "tests")
    first, *lines = told.split("\n")
    # the report lists no pass of a test whose subtests failed
    assert "2 passed, 2 failed" in first
    assert lines == [
        *("test_b.py:10: T::test_x", "  AssertionError: 1 != 0 : said for 1"),
        *("test_b.py:10: T::test_x", "  AssertionError: 2 != 0 : said for 2"),
    ]


def test_a_section_that_is_left_out_ends_at_the_last_line_or_the_next_heading() -> None:
    printed = "=== FAILURES ===\nE no\n=== warnings summary ===\n3 things are odd\n=== {}\n1 failed in 0.04s"
    assert (
        REPEATED_OUTPUT.sub("", printed.format("rest"))
        == "=== FAILURES ===\nE no\n=== rest\n1 failed in 0.04s"
    )
    printed = printed.format("short test summary info ===\nFAILED a.py")
    assert REPEATED_OUTPUT.sub("", printed) == "=== FAILURES ===\nE no\n1 failed in 0.04s"


@pytest.mark.slow
async def test_a_command_with_places_says_itself_how_it_is_limited(tmp_path: Path) -> None:
    project = with_pytest(tmp_path, "-k", "{pattern}", "--", "{files}")
    tool = await offered(project)
    assert set(tool.schema["properties"]) == {"check", "files", "pattern"}
    assert "3 passed" in await run(project, "tests")
    assert "1 passed" in await run(project, "tests", files=["test_b.py"])
    assert "1 passed" in await run(project, "tests", files=["test_a.py"], pattern="two")


@pytest.mark.slow
async def test_a_command_that_cannot_be_limited_has_no_such_arguments(tmp_path: Path) -> None:
    project = with_pytest(tmp_path, "test_a.py", "-k=one")
    tool = await offered(project)
    assert set(tool.schema["properties"]) == {"check"}
    assert "1 passed" in await run(project, "tests")
    with pytest.raises(ToolError, match=r"verify\.tests is configured, and is run as it stands"):
        await run(project, "tests", files=["test_b.py"])
    write_files(tmp_path, {".tideate/config.toml": '[verify]\ntests = ["pytest"]\n'})
    assert await every_offered(project) == [], "nobody trusts it"


@pytest.mark.attack
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"files": ["../x.py"]}, "outside the project"),
        ({"files": ["-x.py"]}, "begins with `-`"),
        ({"pattern": "--help"}, "does not begin with `-`"),
    ],
)
async def test_what_takes_a_place_is_no_option_and_stays_inside(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    project = with_pytest(tmp_path, "-k", "{pattern}", "{files}")
    write_files(tmp_path, {"-x.py": ""})
    with pytest.raises(ToolError, match=said):
        await run(project, "tests", **arguments)


async def test_only_tests_can_be_limited(project: Project) -> None:
    with pytest.raises(ToolError, match="lint runs as a whole"):
        await run(project, "lint", files=["calc.py"])


@pytest.mark.attack
async def test_what_nobody_trusts_is_not_run(tmp_path: Path) -> None:
    project = Project(tmp_path, {**FILES, "tests/test_calc.py": "open('sprung', 'w')"})
    with pytest.raises(ToolError, match="which is not trusted yet; look at the project, then run"):
        await run(project, "tests")
    assert not (tmp_path / "sprung").exists()


async def test_a_check_that_is_not_there_is_told_with_those_that_are(project: Project) -> None:
    with pytest.raises(
        ToolError, match=r"check build cannot run here: no command is known \(known checks: tests\)"
    ):
        await run(project, "build")


@pytest.mark.attack
async def test_edits_that_nobody_reviewed_run_only_with_a_yes(tmp_path: Path) -> None:
    project = Project(tmp_path, FILES, decisions=(Decision(False, by="policy"),))
    trust(tmp_path)
    await project.stage(fixed())
    for _ in range(2):
        with pytest.raises(ToolError, match="the person does not want `"):
            await run(project, "tests")
    assert len(project.step.questions) == 1


@pytest.mark.slow
@pytest.mark.attack
async def test_a_staged_edit_makes_no_other_command_of_one_that_is_trusted(tmp_path: Path) -> None:
    root = tmp_path / "project"
    project = Project(root, {"Makefile": "lint:\n\t@echo fine\n"}, decisions=(YES,))
    trust(root)
    assert (await run(project, "lint")).startswith("lint passed: `make lint` ended with")
    await project.stage(FileChange("Makefile", "modify", None, f"lint:\n\ttouch {tmp_path}/sprung"))
    with pytest.raises(ToolError, match="staged edits change the code that it runs, and `make lint` runs"):
        await run(project, "lint")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.slow
@pytest.mark.attack
async def test_a_staged_edit_of_what_the_persons_own_command_runs_needs_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_files(tmp_path / "config", {"tideate/config.toml": '[verify]\nlint = ["make", "lint"]\n'})
    project = Project(tmp_path / "project", {"Makefile": "lint:\n\t@echo fine\n"}, decisions=(YES,))
    assert (await run(project, "lint")).startswith("lint passed: `make lint` ended with")
    await project.stage(FileChange("Makefile", "modify", None, f"lint:\n\ttouch {tmp_path}/sprung"))
    with pytest.raises(ToolError, match="staged edits change the code that it runs, and `make lint` runs"):
        await run(project, "lint")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.slow
async def test_a_project_s_own_file_that_nobody_trusts_is_not_passed_over(project: Project) -> None:
    write_files(project.root, {".tideate/config.toml": '[verify]\ntests = ["false"]\n'})
    with pytest.raises(
        ToolError, match=r"\.tideate/config\.toml sets the command of tests and is not trusted"
    ):
        await run(project, "tests")


@pytest.mark.slow
async def test_output_is_bounded_without_secrets_and_failures_have_their_places(tmp_path: Path) -> None:
    root, key = tmp_path / "project", "sk-" + "a1" * 20
    recipe = f"lint:\n\t@seq 100000; echo {key}; exit 3\n"
    recipe += "build:\n\t@seq 9; echo 'src/a.c:3:7: error: too bad'; exit 3\n"
    project = Project(root, {"Makefile": recipe})
    trust(root)
    told = await run(project, "lint")
    assert len(told) < 5_500
    assert "[a line that seems to hold a secret]" in told
    assert key not in told
    first, *failures = (await run(project, "build")).split("\n")
    assert first.startswith("build failed: `make build` ended with status 2 in ")
    assert failures == ["src/a.c:3:7: too bad"], "what a failure says is not said again"


@pytest.mark.slow
async def test_moved_and_deleted_files_keep_their_style_and_are_gone(tmp_path: Path) -> None:
    root = tmp_path / "project"
    recipe = "lint:\n\t@ls; od -c new.sh | head -2; ./new.sh\n"
    files = {"Makefile": recipe, "old.sh": "#!/bin/sh\necho ran\n", "gone": "x"}
    project = Project(root, files, decisions=(YES,))
    (root / "old.sh").chmod(0o755)
    trust(root)
    text = "#!/bin/sh\necho ran"
    await project.stage(
        FileChange("old.sh", "move", text, text + " it", move_to="new.sh"),
        FileChange("gone", "delete", "x", None),
    )
    told = await run(project, "lint")
    assert "Makefile\nnew.sh\n" in told
    assert "ran it" in told
    assert "gone" not in told


def test_the_checks_are_those_that_there_are() -> None:
    from tideate_core.agents.tools.checks import RunCheck

    (named, _) = RunCheck.model_json_schema()["properties"]["check"]["anyOf"]
    assert set(named["enum"]) == set(Check)


async def test_without_a_name_the_checks_are_told(tmp_path: Path) -> None:
    files = {**FILES, "Makefile": "lint:\n\t@echo fine\n"}
    project = Project(tmp_path, files)
    lint, tests = sorted((await run(project)).split("\n"))
    assert lint == "lint: `make lint` (not trusted: a person must run `tideate trust`)"
    assert tests.startswith("tests: `")
    assert tests.endswith("(not trusted: a person must run `tideate trust`)")
    trust(tmp_path)
    assert "lint: `make lint`" in (await run(project)).split("\n")
    write_files(tmp_path, {".tideate/config.toml": '[verify]\ntests = ["false"]\n'})
    assert "tests: set in .tideate/config.toml (not trusted: " in await run(project)


async def test_where_there_is_no_check_it_is_told_what_a_person_can_do(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.txt": "a"})
    told = await run(project)
    assert told.startswith(
        "there is no check here: a person can set one in .tideate/config.toml, as `[verify]"
    )
    assert told.endswith("You can hand in without it, with a note that it did not run.")
    with pytest.raises(ToolError, match=r"check tests cannot run here: .*config\.toml.* hand in without it"):
        await run(project, "tests")


PARTS = {
    "api/setup.py": "",
    "api/tests/__init__.py": "",
    "api/tests/test_calc.py": "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n"
    "        self.fail('wrong')\n",
    "web/Makefile": "test:\n\t@echo of web\n",
    "web/package.json": "{}",
    "other/x.py": "",
}


@pytest.mark.slow
async def test_checks_run_in_the_parts_that_the_edits_touch(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", PARTS, decisions=(YES, YES))
    trust(project.root)
    await project.stage(FileChange("web/a.js", "create", None, "1"))
    told = await run(project, "tests")
    assert told.startswith("tests passed: `make test` in web ")
    assert "api" not in told
    told = await run(project, "tests", files=["api/tests/test_calc.py"])
    assert told.startswith("tests failed: `pytest ")
    assert "api/tests/test_calc.py:6: " in told
    assert "make" not in told
    with pytest.raises(ToolError, match="tests are run in api, web"):
        await run(project, "tests", files=["other/x.py"])


async def test_a_check_whose_program_is_not_there_is_not_offered(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"package.json": NO_LINTER, "Makefile": "test:\n"})
    trust(project.root)
    assert (await offered(project)).schema["properties"]["check"] == {"enum": ["tests"], "type": "string"}
    assert "lint" not in await run(project)
    with pytest.raises(ToolError, match="nosuchlinter is not installed; run `npm install`"):
        await run(project, "lint")


NO_LINTER = '{"scripts": {"lint": "nosuchlinter ."}}'


@pytest.mark.parametrize(
    "files",
    [
        {"CMakeLists.txt": "", "build/CMakeCache.txt": ""},
        {"Makefile": "build:\n\t@cmake --build out/debug\n", "out/debug/CMakeCache.txt": ""},
    ],
)
async def test_a_build_directory_of_cmake_is_not_used_in_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    def no_overlay(*_: object) -> None:
        raise ScratchUnavailable("no overlay here")

    monkeypatch.setattr(Overlay, "mount", no_overlay)
    monkeypatch.setattr(check_commands, "missing_program", lambda *_: "")
    project = Project(tmp_path / "project", files, decisions=(YES,))
    trust(project.root)
    with pytest.raises(ToolError, match="CMake configured"):
        await run(project, "build")


def failing_file(*names: str) -> str:
    return "".join(f"def test_{name}():\n    x = 1\n    assert x == 2, {name!r}\n\n\n" for name in names)


def count_runs(project: Project) -> int:
    """Return the number of test runs in all copies."""
    counted = project.root.parent / "runs"
    return len(counted.read_text()) if counted.exists() else 0


@pytest.mark.slow
async def test_a_failure_is_marked_as_new_or_as_old(tmp_path: Path) -> None:
    project = with_pytest(tmp_path / "project", decisions=(YES,))
    counter = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
    write_files(project.root, {"test_b.py": counter + failing_file("old"), "test_a.py": ""})
    told = await run(project, "tests")
    assert told.endswith("\ntest_b.py:4: test_old\n  AssertionError: old\n  assert 1 == 2"), "not compared"
    await project.stage(
        FileChange("test_b.py", "modify", None, counter + failing_file("new", "old").rstrip()),
        FileChange("test_c.py", "create", None, failing_file("more").rstrip()),
    )
    told = await run(project, "tests")
    assert [line for line in told.split("\n")[1:] if not line.startswith(" ")] == [
        "test_b.py:4: test_new (new)",
        "test_b.py:9: test_old (also without your edits)",
        "test_c.py:3: test_more (new)",
    ]
    ran = count_runs(project)
    await run(project, "tests")
    assert count_runs(project) == ran + 1, "what is there without the edits is not tested again"
    write_files(project.root, {"test_a.py": "x = 1\n"})
    await run(project, "tests")
    assert count_runs(project) == ran + 3, "the project's files are others now"
    await project.stage(FileChange("test_c.py", "delete", None, None))
    fixed = counter + failing_file("old").rstrip() + "\n\ny = 1"
    await project.stage(FileChange("test_b.py", "modify", None, fixed))
    assert (await run(project, "tests")).startswith("tests failed, as without your edits: `")


@pytest.mark.slow
async def test_one_more_failure_with_the_same_words_is_not_told_as_an_old_one(tmp_path: Path) -> None:
    lines = "a.c:3:7: error: too bad\na.c:5:7: error: worse\n"
    recipe = {"Makefile": "lint:\n\t@cat found; exit 3\n", "found": lines}
    project = Project(tmp_path / "project", recipe, decisions=(YES,))
    trust(project.root)
    await project.stage(FileChange("found", "modify", None, f"{lines}a.c:9:7: error: too bad"))
    first, *failures = (await run(project, "lint")).split("\n")
    assert first.startswith("lint failed: `make lint` ")
    assert failures == [
        "a.c:3:7: too bad (new, or one of 1 such without your edits)",
        "a.c:5:7: worse (also without your edits)",
        "a.c:9:7: too bad (new, or one of 1 such without your edits)",
    ]


@pytest.mark.slow
async def test_a_failure_of_tests_that_did_not_run_without_the_edits_is_not_told_as_new(
    tmp_path: Path,
) -> None:
    project = with_pytest(tmp_path / "stopped", "-x", decisions=(YES,))
    write_files(project.root, {"test_b.py": failing_file("old", "next"), "test_a.py": ""})
    mended = failing_file("old", "next").replace("x == 2", "x == 1", 1).rstrip()
    await project.stage(FileChange("test_b.py", "modify", None, mended))
    assert "\ntest_b.py:8: test_next (not known whether new)\n" in await run(project, "tests")
    project = with_pytest(tmp_path / "broken", decisions=(YES,))
    write_files(project.root, {"test_b.py": "import new_b\n" + failing_file("b")})
    await project.stage(FileChange("new_b.py", "create", None, ""))
    assert "\ntest_b.py:4: test_b (not known whether new)\n" in await run(project, "tests")


@pytest.mark.slow
async def test_a_test_that_fails_in_another_way_is_not_told_as_unaffected(tmp_path: Path) -> None:
    project = with_pytest(tmp_path / "project", decisions=(YES,))
    write_files(
        project.root, {"n.py": "N = 1\n", "test_b.py": "import n\n\n\ndef test_n():\n    assert n.N == 3\n"}
    )
    await project.stage(FileChange("n.py", "modify", None, "N = 2"))
    told = await run(project, "tests", files=["test_b.py"])
    assert told.startswith("tests failed: `"), "a submission in the same turn is refused"
    assert "\ntest_b.py:5: test_n (also without your edits, with another error)\n" in told


@pytest.mark.slow
async def test_a_test_sees_the_environment_of_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    project = with_pytest(tmp_path)
    seen = "import os\n\n\ndef test_seen():\n    names = ('TERM', 'NO_COLOR', 'CI')\n"
    seen += "    assert [os.environ.get(name) for name in names] == ['xterm-256color', None, None]\n"
    write_files(project.root, {"test_a.py": "", "test_b.py": seen})
    assert "1 passed" in await run(project, "tests")


@pytest.mark.slow
async def test_the_checks_that_can_run_are_listed_with_their_last_time(project: Project) -> None:
    (before,) = await runnable_checks(project.step)  # type: ignore[arg-type]
    assert re.fullmatch(r"tests \(`[^`]+`\)", before)
    await run(project, "tests")
    (after,) = await runnable_checks(project.step)  # type: ignore[arg-type]
    assert re.fullmatch(r"tests \(`[^`]+`, \d+\.\d s\)", after)
    write_files(project.root, {".tideate/config.toml": '[verify]\ntests = ["false"]\n'})
    assert await runnable_checks(project.step) == [], "nobody trusts it"  # type: ignore[arg-type]


@pytest.mark.slow
async def test_a_snippet_sees_staged_edits_and_the_project_stays_as_it_is(project: Project) -> None:
    await project.stage(fixed())
    assert set((await offered(project, "run_snippet")).schema["properties"]) == {"code"}
    code = "import calc\nopen('made', 'w')\nprint(calc.add(1, 2))"
    first, *printed = (await project.call("run_snippet", code=code)).split("\n")
    ending = r"ended with status 0 in \d+\.\d s, on a scratch copy with 1 staged file"
    assert re.fullmatch(f"snippet passed: `python` {ending}", first)
    assert printed == ["3"]
    assert not (project.root / "made").exists()
    (question,) = project.step.questions
    assert question == "Run python code of the model on a scratch copy with 1 staged file?"
    assert "\n\n    import calc\n    open('made', 'w')\n" in project.step.confirmed[0][1]
    assert "2 passed" in await run(project, "tests"), "the answer is about tests, too"
    failed = await project.call("run_snippet", code="1 / 0")
    assert failed.startswith("snippet failed: `python` ended with status 1 in ")
    assert failed.endswith("ZeroDivisionError: division by zero")
    assert len(await project.call("run_snippet", code="print('y\\n' * 99_999)")) < 5_000


async def test_a_submission_is_refused_for_failures_and_not_for_what_a_program_prints(
    project: Project,
) -> None:
    failed = (await offered(project)).failed
    assert failed is not None
    ending = "ended with status 1 in 0.1 s, on a scratch copy"
    for words in (
        "tests failed: `make x`",
        "type_check timed out: `sh -c 'a\nb'` in src",
        "snippet failed: `lua`",
    ):
        assert failed.search(f"build passed: `make` {ending}\n{words} {ending} with 1 staged file")
    assert not failed.search(f"tests failed, as without your edits: `make x` {ending}\na.py:1: no")
    assert not failed.search(f"snippet passed: `python` {ending}\nvalue is: `x`\nit failed: `y` in 0.1 s")


@pytest.mark.slow
async def test_a_snippet_does_not_run_a_program_of_tests_with_a_similar_name(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {**FILES, ".tideate/config.toml": '[verify]\ntests = ["./python-tests"]\n'},
        decisions=(YES,),
    )
    script = project.root / "python-tests"
    script.write_text("#!/bin/sh\necho tests\n")
    script.chmod(0o755)
    Trust(project.root).trust(CONFIG_NAME, (project.root / ".tideate/config.toml").read_bytes())
    assert (await project.call("run_snippet", code="print(6 * 7)")).endswith("\n42")


@pytest.mark.slow
async def test_a_snippet_that_does_not_end_is_ended(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snippets, "SECONDS", 0.5)
    told = await project.call("run_snippet", code="print('begun', flush=True)\nwhile True:\n    pass")
    assert re.match(r"snippet timed out: `python` .*\nbegun", told)


@pytest.mark.attack
async def test_a_snippet_needs_trusted_tests_and_a_yes(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", FILES, decisions=(Decision(False),))
    assert await every_offered(project, "run_snippet") == []
    code = f"open({str(tmp_path / 'sprung')!r}, 'w')"
    with pytest.raises(ToolError, match="not trusted yet"):
        await project.call("run_snippet", code=code)
    trust(project.root)
    with pytest.raises(ToolError, match="the person does not want"):
        await project.call("run_snippet", code=code)
    assert not (tmp_path / "sprung").exists()
