"""A client's file or pattern becomes exactly one safe argument, or nothing runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mcp.projects import Project
    from tests.mcp.servers.calling import Caller

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


async def test_no_hostile_file_is_run_or_listed(small: Project, served: Caller) -> None:
    before, beside = small.files(), set(small.root.parent.rglob("*"))
    for value in HOSTILE:
        words = await served.refused("test_run", files=[value])
        assert len(words) < 600, value
        listed = await served.call("test_list", files=[value])
        assert listed.is_error or not listed.structured_content["tests"], value
    assert (await served("test_list"))["total"] == 1
    assert small.files() == before
    assert set(small.root.parent.rglob("*")) == beside


async def test_tests_are_listed_by_reading_alone(small: Project, served: Caller) -> None:
    small.write(
        tests__test_more_py="class TestA:\n    async def test_b(self):\n        pass\n\n\ndef helper():\n"
        "    def test_inner():\n        pass\n",
        node_modules__test_x_py="def test_no():\n    pass\n",
    )
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
