"""A client's file or pattern becomes exactly one safe argument, or nothing runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.mcp.servers.calling import serve
from tideate_core.mcp.servers.test.server import test_server as make_server
from tideate_core.toolchain import Check, Tool
from tideate_core.toolchain.testing.runners import SelectedTests, UnsupportedSelection, make_runner_command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.projects import Project

HOSTILE = [
    "-x",
    "--junitxml=out",
    "--output=out",
    "-p=evil",
    "--rootdir=..",
    "@out",
    "; touch out",
    "&& touch out",
    "| touch out",
    "$(touch out)",
    "`touch out`",
    "a\ntouch out",
    "a\rb",
    "a\0b",
    "../outside.py",
    "/etc/passwd",
    "~/x",
    "a/../../outside.py",
    "\u202etxt.exe",
    "tests\u2028x",
    "x" * 5_000,
    "*",
    "%s%n",
    "{a,b}",
    ".git/config",
    ".tideate/config.toml",
    "link",
    "linked/x.py",
    "test_small.py::test_fine",
    "test_small.py -x",
]
PROJECT = {
    "pyproject_toml": '[tool.pytest.ini_options]\naddopts = "-p no:cacheprovider"\n',
    "test_small_py": "def test_fine():\n    open('ran', 'w')\n",
}


@pytest.fixture
def small(project: Project) -> Project:
    """A project with tests that leave a file when run, and links out of it."""
    outside = project.root.parent / "outside"
    outside.mkdir()
    (outside / "x.py").write_text("def test_x():\n    open('ran', 'w')\n")
    project.write(**PROJECT).trust()
    (project.root / "link").symlink_to(outside / "x.py")
    (project.root / "linked").symlink_to(outside)
    return project


async def test_no_hostile_file_is_run_or_listed(small: Project) -> None:
    before, beside = small.files(), set(small.root.parent.rglob("*"))
    async with serve(make_server(small.root)) as served:
        for value in HOSTILE:
            words = await served.refused("test_run", files=[value])
            assert len(words) < 600, value
            listed = await served.call("test_list", files=[value])
            assert listed.is_error or not listed.structured_content["tests"], value
        assert (await served("test_list"))["total"] == 1
    assert small.files() == before
    assert set(small.root.parent.rglob("*")) == beside


@pytest.mark.slow
async def test_no_hostile_pattern_does_more_than_select(small: Project) -> None:
    before = small.files()
    async with serve(make_server(small.root)) as served:
        for value in HOSTILE:
            if value.startswith(("../", "/", "a/", ".", "link", "test", "*")):
                continue  # of names of tests these are as good as any: they would be run for
            result = await served.call("test_run", pattern=value)
            assert result.is_error or result.structured_content["status"] in ("failed", "no_tests"), value
    made = small.files() - before
    assert all(name.startswith((".tideate", "__pycache__")) for name in made), made


@dataclass(frozen=True)
class Case:
    """A detected runner, and its arguments for a file and a pattern."""

    argv: tuple[str, ...]
    file: str
    pattern: str
    expected: tuple[str, ...]
    recipe: str = ""
    name: str = field(default="")


CASES = [
    Case(
        ("pytest", "-q"),
        "a/test_b.py",
        "x and not y",
        ("pytest", "-q", "-vv", "-k=x and not y", "./a/test_b.py"),
    ),
    Case(
        ("python3", "-m", "unittest", "discover", "-s", "tests"),
        "tests/sub/test_a.py",
        "x*",
        ("python3", "-m", "unittest", "-v", "-k=x*", "sub.test_a"),
        name="unittest",
    ),
    Case(
        ("python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."),
        "tests/test_a.py",
        "",
        ("python3", "-m", "unittest", "-v", "tests.test_a"),
        name="unittest",
    ),
    Case(
        ("node_modules/.bin/jest", "--ci"),
        "a.test.js",
        "^a (b|c)$",
        ("node_modules/.bin/jest", "--ci", "--testNamePattern=^a (b|c)$", "--runTestsByPath", "./a.test.js"),
        name="jest",
    ),
    Case(
        ("npm", "run", "test"),
        "a.test.ts",
        "$(x)",
        ("vitest", "run", "--config=x.ts", "--testNamePattern=$(x)", "./a.test.ts"),
        recipe="vitest --config=x.ts",
        name="npm",
    ),
    Case(
        ("go", "test", "./..."),
        "sub/a_test.go",
        "^TestA$",
        ("go", "test", "-json", "-run=^TestA$", "./sub"),
        name="go",
    ),
    Case(("go", "test", "./..."), "a_test.go", "", ("go", "test", "-json", "."), name="go"),
    Case(
        ("cargo", "test"),
        "tests/outer.rs",
        "a::b",
        ("cargo", "test", "--no-fail-fast", "--test=outer", "--", "a::b"),
        name="cargo",
    ),
    Case(
        ("ctest", "--test-dir", "build"), "", "^a", ("ctest", "--test-dir", "build", "-R", "^a"), name="ctest"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name or case.argv[0]}-{case.file}")
def test_files_and_patterns_become_what_the_runner_takes(case: Case) -> None:
    tool = Tool(Check.TESTS, case.name or case.argv[0], case.argv, "", case.recipe)
    wanted = SelectedTests((case.file,) if case.file else (), case.pattern)
    assert make_runner_command(tool, wanted).argv == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name or case.argv[0]}-{case.file}")
@pytest.mark.parametrize("pattern", ["-x", "--help", "a\nb", "", "a\0", "x" * 501, "--", "\u202e"])
def test_no_runner_is_given_what_is_no_pattern(case: Case, pattern: str) -> None:
    tool = Tool(Check.TESTS, case.name or case.argv[0], case.argv, "", case.recipe)
    if not pattern:
        assert make_runner_command(tool, SelectedTests(pattern="")).argv
        return
    with pytest.raises(UnsupportedSelection):
        make_runner_command(tool, SelectedTests(pattern=pattern))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("unittest", "other/test_a.py"),
        ("unittest", "tests/test-a.py"),
        ("unittest", "tests/a.txt"),
        ("cargo", "src/lib.rs"),
        ("cargo", "tests/--help.rs"),
        ("ctest", "CMakeLists.txt"),
        ("make", "a.c"),
        ("pytest", "a[1].py"),
        ("pytest", "a.py::b"),
    ],
)
def test_a_file_that_a_runner_cannot_be_limited_to_is_refused(name: str, file: str) -> None:
    argv = ("python3", "-m", "unittest", "discover", "-s", "tests") if name == "unittest" else (name, "test")
    with pytest.raises(UnsupportedSelection):
        make_runner_command(Tool(Check.TESTS, name, argv, ""), SelectedTests((file,)))


@pytest.mark.parametrize(
    "script",
    ["vitest && rm x", "jest; x", "jest $(x)", "FOO=1 jest", "pre\njest", "sh -c jest", "jest 'a b'"],
)
def test_a_script_that_does_more_than_run_its_runner_is_run_as_it_stands(script: str) -> None:
    tool = Tool(Check.TESTS, "npm", ("npm", "run", "test"), "", script)
    command = make_runner_command(tool, SelectedTests())
    assert (command.runner, command.argv, command.report) == ("npm", ("npm", "run", "test"), "")
    with pytest.raises(UnsupportedSelection):
        make_runner_command(tool, SelectedTests(pattern="a"))


def test_a_configured_command_is_run_as_it_stands_whatever_its_program() -> None:
    tool = Tool(Check.TESTS, "pytest", ("python", "-m", "pytest", "-x"), "")
    command = make_runner_command(tool, SelectedTests(), configured=True)
    assert (command.argv, command.report_options) == (tool.argv, ())
    script = Tool(Check.TESTS, "test.sh", ("./test.sh", "-x"), "")
    for wanted in (SelectedTests(("a.py",)), SelectedTests(pattern="a")):
        with pytest.raises(UnsupportedSelection, match=r"verify\.tests is configured"):
            make_runner_command(script, wanted, configured=True)


async def test_tests_are_listed_by_reading_alone(small: Project) -> None:
    small.write(
        tests__test_more_py="class TestA:\n    async def test_b(self):\n        pass\n\n\ndef helper():\n"
        "    def test_inner():\n        pass\n",
        node_modules__test_x_py="def test_no():\n    pass\n",
    )
    async with serve(make_server(small.root)) as served:
        everything = await served("test_list")
        files = await served("test_list", kind="files")
        below = await served("test_list", files=["tests"])
    assert everything["runner"] == "pytest"
    assert everything["trusted"]
    assert [(one["file"], one["line"], one["name"]) for one in everything["tests"]] == [
        ("test_small.py", 1, "test_fine"),
        ("tests/test_more.py", 2, "TestA::test_b"),
    ]
    assert [one["file"] for one in files["tests"]] == ["test_small.py", "tests/test_more.py"]
    assert [one["name"] for one in below["tests"]] == ["TestA::test_b"]
    assert not (small.root / "ran").exists()


async def test_a_long_list_comes_in_pages(project: Project) -> None:
    names = [f"test_{number:04}" for number in range(1_200)]
    project.write(pytest_ini="", test_many_py="".join(f"def {name}():\n    pass\n" for name in names))
    async with serve(make_server(project.root)) as served:
        found, cursor = [], ""
        while True:
            page = await served("test_list", cursor=cursor)
            found += [one["name"] for one in page["tests"]]
            if not (cursor := page["nextCursor"]):
                break
        project.write(test_many_py="")
        changed = await served.refused("test_list", cursor="500-0123456789abcdef")
    assert found == names
    assert not page["trusted"]
    assert "changed" in changed


def test_links_that_lead_out_are_not_listed(small: Project, tmp_path: Path) -> None:
    from tideate_core.toolchain.testing.listing import find_test_files, list_tests

    (small.root / "test_link.py").symlink_to(tmp_path / "outside" / "x.py")
    (small.root / "sub").mkdir()
    (small.root / "sub" / "test_up").symlink_to(small.root)
    os.mkfifo(small.root / "test_pipe.py")
    assert find_test_files(small.root, "pytest") == ["test_small.py"]
    assert list_tests(small.root, ["test_link.py", "test_pipe.py"]) == []
