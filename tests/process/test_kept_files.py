"""Files that an enclosed program replaces in the home: kept, unless others changed them meanwhile."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tideate_core.process import Enclosure, EscapeReport, KeptFiles, Namespaces, entering
from tideate_core.process.kept_files import CHANGED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = ".agent.json"
REPLACE = f"""
import os
open("{NAME}.new", "w").write("after")
os.rename("{NAME}.new", "{NAME}")
open("other", "w").write("x")
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def run(home: Path) -> Callable[..., EscapeReport]:
    """Run Python code in the home with the file kept."""

    def run(code: str, meanwhile: Callable[[], object] = bool) -> EscapeReport:
        inside = Enclosure(home, kept=(home / NAME,))
        kept = KeptFiles.read(inside.kept)
        held = Namespaces.hold(inside.mounts([]), inside.rules)
        try:
            subprocess.run(entering(held.pid, home, [sys.executable, "-I", "-S", "-c", code]), check=True)
            meanwhile()
        finally:
            held.close()
        return EscapeReport.of(held.report, kept.keep(held.report["kept"]))

    return run


def test_a_replaced_file_is_kept_with_its_mode_and_other_changes_are_discarded(
    home: Path, run: Callable[..., EscapeReport]
) -> None:
    (home / NAME).write_text("before")
    (home / NAME).chmod(0o640)
    report = run(REPLACE)
    assert (home / NAME).read_text() == "after"
    assert (home / NAME).stat().st_mode & 0o777 == 0o640
    assert [path.name for path in home.iterdir()] == [NAME]
    assert report.lines == [f"discarded changes outside of the project: {home}/other"]


def test_a_new_file_is_kept_for_its_owner_alone(home: Path, run: Callable[..., EscapeReport]) -> None:
    run(REPLACE)
    assert (home / NAME).read_text() == "after"
    assert (home / NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("before", ["before", None])
def test_a_change_of_another_program_stays(
    home: Path, run: Callable[..., EscapeReport], before: str | None
) -> None:
    if before is not None:
        (home / NAME).write_text(before)
    report = run(REPLACE, lambda: (home / NAME).write_text("outside"))
    assert (home / NAME).read_text() == "outside"
    assert f"discarded a change of {home}/{NAME}: {CHANGED}" in report.lines


def test_a_link_is_neither_followed_nor_replaced(home: Path, run: Callable[..., EscapeReport]) -> None:
    (home / "target").write_text("before")
    (home / NAME).symlink_to("target")
    report = run(REPLACE)
    assert (home / NAME).is_symlink()
    assert (home / "target").read_text() == "before"
    assert f"discarded a change of {home}/{NAME}: it is not a regular file" in report.lines


@pytest.mark.parametrize(
    "code",
    [
        f"import os; os.symlink('/etc/passwd', '{NAME}')",
        f"import os; os.mkfifo('{NAME}')",
        f"import os; os.mkdir('{NAME}')",
        f"open('{NAME}', 'wb').truncate(1 << 25)",
    ],
)
def test_links_pipes_and_huge_files_of_the_program_are_not_kept(
    home: Path, run: Callable[..., EscapeReport], code: str
) -> None:
    report = run(code)
    assert list(home.iterdir()) == []
    assert report.outside == 1


def test_a_deletion_is_discarded(home: Path, run: Callable[..., EscapeReport]) -> None:
    (home / NAME).write_text("before")
    report = run(f"import os; os.remove('{NAME}')")
    assert (home / NAME).read_text() == "before"
    assert report.named[0].deleted


@pytest.mark.parametrize("content", ["é", "AAA", "not Base64!"])
def test_a_malformed_report_changes_no_file(home: Path, content: str) -> None:
    (home / NAME).write_text("before")
    kept = KeptFiles.read([home / NAME])
    path = next(iter(kept.before))
    assert kept.keep({str(path): content}) == {str(path): "its content cannot be read"}
    assert (home / NAME).read_text() == "before"
