"""Rollback of a run except for conflicting later changes."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from tests.harness.modes import new_mode
from tests.workspace.project import (
    BY_HAND,
    LONG,
    NAME,
    WANTED,
    TextFile,
    apply_changes,
    change_by_hand,
    edit,
    moving,
    tree,
)
from tests.workspace.test_changes import PERSONS, edited_by_hand
from tests.workspace.test_transaction import EVERYTHING, GOOD
from tideate_core.errors import RollbackConflict
from tideate_core.workspace import (
    Journal,
    Rollback,
    RollbackResult,
    Root,
    Workspace,
    change_note,
    unified_diff,
)

if TYPE_CHECKING:
    from collections.abc import Callable


async def test_what_a_person_changed_elsewhere_in_a_file_stays(
    root: Path, workspace: Workspace, long: TextFile
) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED), *EVERYTHING)
    change_by_hand(long)
    done = await workspace.rollback_best_effort("run")
    assert long.text == BY_HAND
    assert (done.merged, done.left) == ([NAME], [])
    assert sorted(done.restored) == ["bin/run", "deep/er/new.py", "logo.png", "run.sh", "src/one.py"]
    assert not (root / "deep").exists()


async def test_the_rollback_that_a_person_asks_for_merges_too(workspace: Workspace, long: TextFile) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED), GOOD)
    change_by_hand(long)
    assert await workspace.rollback("run") == ["src/one.py", NAME]
    assert long.text == BY_HAND
    assert await workspace.rollback("run") == []
    assert long.text == BY_HAND


async def test_what_was_changed_where_the_run_wrote_is_left_and_said(
    root: Path, workspace: Workspace, long: TextFile
) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED), *EVERYTHING)
    long.write(WANTED.replace("five", "5"))
    (root / "deep/er/new.py").write_text("x = 1\ny = 2\nmine = 3\n")
    (root / "bin/run").unlink()
    before = tree(root)
    done = await workspace.rollback_best_effort("run")
    assert sorted(done.left) == ["deep/er/new.py", NAME]
    assert sorted(done.restored) == ["logo.png", "run.sh", "src/one.py"]
    assert {name: tree(root)[name] for name in done.left} == {name: before[name] for name in done.left}
    assert await workspace.rollback_best_effort("run") == done


async def test_a_file_is_rolled_back_through_all_applies_or_left_whole(
    root: Path, workspace: Workspace, long: TextFile
) -> None:
    """A partial rollback would create a text that never existed."""
    second = WANTED.replace("line 18", "eighteen")
    await apply_changes(workspace, edit(NAME, LONG, WANTED))
    await apply_changes(workspace, edit(NAME, WANTED, second))
    long.write(second.replace("five", "5"))
    done = await workspace.rollback_best_effort("run")
    assert (done, long.text) == (RollbackResult([], [], [NAME]), second.replace("five", "5"))
    long.write(second.replace("line 1\n", "mine\n"))
    assert await workspace.rollback_best_effort("run") == RollbackResult([], [NAME], [])
    assert long.text == LONG.replace("line 1\n", "mine\n")


async def test_what_a_person_changed_between_two_applies_stays(workspace: Workspace, long: TextFile) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED))
    change_by_hand(long)
    now = (await workspace.read(NAME)).text
    await apply_changes(workspace, edit(NAME, now, now.replace("line 3", "three")))
    assert await workspace.rollback_best_effort("run") == RollbackResult([], [NAME], [])
    assert long.text == BY_HAND


async def test_a_moved_file_goes_back_with_what_was_changed_in_it(
    root: Path, workspace: Workspace, long: TextFile
) -> None:
    before = tree(root)
    move = moving(NAME, "lib/long.py", LONG, WANTED)
    picture = moving("logo.png", "lib/logo.png")
    await apply_changes(workspace, move, picture)
    change_by_hand(TextFile(root / "lib/long.py"))
    (root / "lib/logo.png").write_bytes(b"\x00mine")
    done = await workspace.rollback_best_effort("run")
    assert sorted(done.merged) == ["logo.png", NAME]
    assert tree(root) == before | {
        NAME: ("file", new_mode(), BY_HAND.encode()),
        "logo.png": ("file", before["logo.png"][1], b"\x00mine"),
    }
    assert await workspace.rollback_best_effort("run") == done


async def test_a_moved_file_stays_where_something_else_took_its_old_place(
    root: Path, workspace: Workspace
) -> None:
    await apply_changes(workspace, EVERYTHING[3])
    (root / "run.sh").write_text("mine")
    before = tree(root)
    done = await workspace.rollback_best_effort("run")
    assert (done.restored, done.merged, sorted(done.left)) == ([], [], ["bin/run", "run.sh"])
    assert tree(root) == before


async def test_line_ends_and_a_missing_last_one_are_kept(root: Path, workspace: Workspace) -> None:
    dos = root / "dos.txt"
    dos.write_bytes(b"\xef\xbb\xbf" + LONG.replace("\n", "\r\n").encode())
    await apply_changes(workspace, edit("dos.txt", LONG, WANTED))
    dos.write_bytes(dos.read_bytes().replace(b"line 10", b"mine"))
    assert (await workspace.rollback_best_effort("run")).merged == ["dos.txt"]
    wanted = LONG.replace("line 10", "mine").replace("\n", "\r\n")
    assert dos.read_bytes() == b"\xef\xbb\xbf" + wanted.encode()


async def test_the_mode_that_a_person_gave_a_merged_file_is_kept(
    workspace: Workspace, long: TextFile
) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED))
    change_by_hand(long)
    long.path.chmod(0o640)
    await workspace.rollback_best_effort("run")
    assert (long.text, long.path.stat().st_mode & 0o777) == (BY_HAND, 0o640)


async def test_what_was_merged_and_changed_again_is_not_taken_for_the_runs(
    workspace: Workspace, long: TextFile
) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED))
    change_by_hand(long)
    await workspace.rollback_best_effort("run")
    await workspace.apply([edit(NAME, BY_HAND[:-1], "another run's")], execution_id="other")
    await workspace.rollback_best_effort("other")
    assert long.text == BY_HAND
    assert await workspace.rollback_best_effort("run") == RollbackResult([], [NAME], [])


def without_post_images(apply: Path) -> None:
    manifest = json.loads((apply / "manifest.json").read_text())
    for entry in manifest["entries"]:
        entry.pop("kept", None)
    (apply / "manifest.json").write_text(json.dumps(manifest))


def with_other_post_images(apply: Path) -> None:
    data = (apply / "before").read_bytes()
    (apply / "before").write_bytes(data[:-20] + bytes(20))


OLD: dict[str, Callable[[Path], None]] = {
    "an old journal": without_post_images,
    "a damaged one": with_other_post_images,
}


@pytest.mark.parametrize("spoil", OLD.values(), ids=OLD.keys())
async def test_without_what_was_written_nothing_is_merged_and_the_rest_is_restored(
    root: Path, private: Path, workspace: Workspace, long: TextFile, spoil: Callable[[Path], None]
) -> None:
    await apply_changes(workspace, GOOD, edit(NAME, LONG, WANTED))
    spoil(private / "journal/run/0001")
    change_by_hand(long)
    before = long.text
    with pytest.raises(RollbackConflict, match=r"nothing was restored: src/long.py \(changed since\)"):
        await workspace.rollback("run")
    assert await workspace.rollback_best_effort("run") == RollbackResult(["src/one.py"], [], [NAME])
    assert long.text == before
    assert "b = 2" in (root / "src/one.py").read_text()


async def test_a_run_that_wrote_nothing_has_nothing_to_roll_back(workspace: Workspace) -> None:
    assert await workspace.rollback("never") == []
    assert await workspace.rollback_best_effort("never") == RollbackResult([], [], [])


async def test_runs_within_steps_are_rolled_back_along_in_the_order_they_wrote(
    root: Path, private: Path, workspace: Workspace, long: TextFile
) -> None:
    for run, after in {"outer": WANTED, "inner": WANTED.upper(), "outer2": "LINE 1\nlast"}.items():
        now = (await workspace.read(NAME)).text
        await workspace.apply([edit(NAME, now, after)], execution_id=run.rstrip("2"))
    rollback = Rollback(Root(root), None, Journal(private))
    assert await rollback.rollback_all(["inner", "outer"]) == RollbackResult([NAME], [], [])
    assert long.text == LONG + "\n"


# -- two runs in one file -------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("first", "second"), ("second", "first")])
async def test_one_of_two_runs_that_write_a_file_at_once_is_rolled_back_without_the_other(
    workspace: Workspace, long: TextFile, names: tuple[str, str]
) -> None:
    after = {"first": LONG.replace("line 5", "five"), "second": LONG.replace("line 15", "fifteen")}
    await asyncio.gather(
        *(workspace.apply([edit(NAME, LONG, text)], execution_id=run) for run, text in after.items())
    )
    assert long.text == after["first"].replace("line 15", "fifteen") + "\n"
    assert (await workspace.rollback_best_effort(names[0])).left == []
    assert long.text == after[names[1]] + "\n"
    assert (await workspace.rollback_best_effort(names[1])).left == []
    assert long.text == LONG + "\n"
    assert await workspace.rollback(names[0]) == []


async def test_a_run_that_another_wrote_over_is_left_until_that_is_rolled_back(
    workspace: Workspace, long: TextFile
) -> None:
    await workspace.apply([edit(NAME, LONG, WANTED)], execution_id="first")
    await workspace.apply([edit(NAME, WANTED, WANTED.replace("five", "V"))], execution_id="second")
    assert (await workspace.rollback_best_effort("first")).left == [NAME]
    await workspace.rollback_best_effort("second")
    assert await workspace.rollback_best_effort("first") == RollbackResult([NAME], [], [])
    assert long.text == LONG + "\n"


# -- whatever texts there are ---------------------------------------------------------------------

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "d = 1"]), max_size=6).map(
    lambda lines: ["first", "a", "second", *lines, "b", "last but one", "last"]
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=4), PERSONS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_no_line_of_a_person_is_lost_and_doing_it_again_changes_nothing(
    texts: list[list[str]], places: list[tuple[int, int]], newline: str, ends: bool
) -> None:
    place = Path(tempfile.mkdtemp())
    try:
        asyncio.run(_rollback_of(place, texts, places, newline, ends))
    finally:
        shutil.rmtree(place)


async def _rollback_of(
    place: Path, texts: list[list[str]], places: list[tuple[int, int]], newline: str, ends: bool
) -> None:
    (place / "root").mkdir()
    (place / "private").mkdir()
    path = place / "root/f"
    workspace = Workspace(place / "root", private=place / "private")
    path.write_bytes((newline.join(texts[0]) + newline * ends).encode())
    before = path.read_bytes()
    for text in texts[1:]:
        source = await workspace.read("f")
        await apply_changes(workspace, edit("f", source.text, "\n".join(text)))
    lines, mine = edited_by_hand(path.read_bytes().decode().split(newline), places)
    by_hand = newline.join(lines).encode()
    path.write_bytes(by_hand)
    done = await workspace.rollback_best_effort("run")
    now = path.read_bytes()
    assert [line for line in now.decode().split(newline) if line.startswith("mine")] == mine
    assert now == (by_hand if done.left else now if mine else before)
    assert await workspace.rollback_best_effort("run") == done
    assert path.read_bytes() == now


async def test_a_plan_says_what_becomes_of_each_file(
    root: Path, private: Path, workspace: Workspace, long: TextFile
) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED), *EVERYTHING)
    change_by_hand(long)
    plan = await Rollback(Root(root), None, Journal(private)).plan(["run"])
    found = {(change.action, change.path, change.move_to) for change in plan.changes()}
    assert found == {
        ("modify", NAME, None),
        ("modify", "src/one.py", None),
        ("delete", "deep/er/new.py", None),
        ("create", "logo.png", None),
        ("move", "bin/run", "run.sh"),
    }
    by_path = {change.path: change for change in plan.changes()}
    assert (by_path[NAME].before, by_path[NAME].after) == (long.text[:-1], BY_HAND[:-1])
    assert "-echo bye\n+echo hello" in unified_diff(by_path["bin/run"])
    assert change_note(by_path["logo.png"]) == "binary, 6 bytes"
    assert tree(root)["src/one.py"][2] == b"a = 1\nb = 20\nc = 3\n"


async def test_what_is_left_is_no_change_of_the_plan(
    root: Path, private: Path, workspace: Workspace, long: TextFile
) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED), EVERYTHING[3])
    long.write(WANTED.replace("five", "5"))
    (root / "run.sh").write_text("mine")
    plan = await Rollback(Root(root), None, Journal(private)).plan(["run"])
    assert plan.changes() == []
    assert set(plan.reasons) == {NAME, "run.sh"}
