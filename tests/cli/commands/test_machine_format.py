"""`tideate machine format`: what is written, and what is left alone."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from tideate_core.machines.language import format_text

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

pytestmark = pytest.mark.slow

UGLY = "* to a:\n\t\tDo it.\n:   when ready\na   to   *\n"
USUAL = format_text(UGLY)


def test_only_what_changes_is_written_and_said(shell: Shell) -> None:
    ugly, usual = shell.write("ugly.workflow", UGLY), shell.write("usual.workflow", USUAL)
    before = usual.stat()
    done = shell.run("machine", "format", "ugly.workflow", "usual.workflow")
    assert (done.returncode, done.stderr) == (0, "formatted: ugly.workflow\n")
    assert ugly.read_text() == USUAL != UGLY
    assert (usual.stat().st_ino, usual.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    again = shell.run("machine", "format", "ugly.workflow")
    assert (again.returncode, again.stderr) == (0, "")


def test_a_check_lists_and_writes_nothing(shell: Shell) -> None:
    file = shell.write("ugly.workflow", UGLY)
    shell.write("usual.workflow", USUAL)
    done = shell.run("machine", "format", ".", "--check")
    assert (done.returncode, done.stdout) == (1, "would be formatted: ugly.workflow\n"), done.stderr
    assert file.read_text() == UGLY
    assert shell.run("machine", "format", "usual.workflow", "--check").returncode == 0


def test_the_text_is_printed_on_demand_and_for_stdin(shell: Shell) -> None:
    file = shell.write("ugly.workflow", UGLY)
    assert shell.run("machine", "format", "ugly.workflow", "--stdout").stdout == USUAL
    assert file.read_text() == UGLY
    assert shell.run("machine", "format", "-", stdin=UGLY).stdout == USUAL


def test_a_file_with_errors_is_left_and_the_others_are_formatted(shell: Shell) -> None:
    wrong = shell.write("a.workflow", "*   to a\na to\n")
    ugly = shell.write("b.workflow", UGLY)
    done = shell.run("machine", "format", "a.workflow", "b.workflow", "gone.workflow")
    assert done.returncode == 2
    assert "a.workflow:2:5: error: " in done.stderr
    assert "gone.workflow: error: cannot be read" in done.stderr
    assert wrong.read_text() == "*   to a\na to\n"
    assert ugly.read_text() == USUAL


def test_line_ends_and_the_byte_order_mark_stay(shell: Shell) -> None:
    file = shell.write("a.workflow", "\ufeff" + UGLY.replace("\n", "\r\n"))
    done = shell.run("machine", "format", "a.workflow")
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == ("\ufeff" + USUAL.replace("\n", "\r\n")).encode()
    assert shell.run("machine", "format", "a.workflow", "--check").returncode == 0
    printed = shell.run("machine", "format", "-", stdin="\ufeff" + USUAL)
    assert printed.stdout == "\ufeff" + USUAL


def test_the_mode_stays_and_a_link_leads_to_the_same_file(shell: Shell) -> None:
    file = shell.write("deep/real.workflow", UGLY)
    file.chmod(0o640)
    link = shell.project / "link.workflow"
    link.symlink_to("deep/real.workflow")
    done = shell.run("machine", "format", "link.workflow")
    assert done.returncode == 0, done.stderr
    assert link.is_symlink()
    assert file.read_text() == USUAL
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["real.workflow"]


def test_what_cannot_be_written_is_as_it_was(shell: Shell) -> None:
    file = shell.write("deep/a.workflow", UGLY)
    shell.env["TMPDIR"] = str(shell.home)
    long = "x" * 240
    other = shell.write(f"{long}.workflow", UGLY)
    done = shell.run("machine", "format", "deep/a.workflow", f"{long}.workflow")
    assert done.returncode == 0, done.stderr
    assert (file.read_text(), other.read_text()) == (USUAL, USUAL)
    out = shell.run("machine", "export", "deep/a.workflow", "-o", "gone/b.workflow")
    assert out.returncode == 2
    assert "cannot be written" in out.stderr


def test_a_check_prints_no_text(shell: Shell) -> None:
    done = shell.run("machine", "format", "-", "--check", "--stdout", stdin=UGLY)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--stdout" in done.stderr
