"""The changes derived from staged edits reproduce them exactly."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.agents.stage import StageStep
from tests.harness.project import write_files
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.errors import UnusableAnswer
from tideate_core.workflows import Decision
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ["a", "b", "c", "d"]
TEXTS = st.sampled_from(["one", "two", ""])
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "move"]), st.sampled_from(NAMES), st.sampled_from(NAMES), TEXTS
    ),
    min_size=2,
    max_size=8,
)


async def loaded(step: StageStep, *paths: str) -> StagedFiles:
    staged = StagedFiles()
    await staged.load(step, paths)  # type: ignore[arg-type]
    return staged


def in_memory(files: dict[str, str]) -> StagedFiles:
    """Return files that are loaded without a disk."""
    staged = StagedFiles()
    for name in NAMES:
        staged.take(name, files.get(name))
    return staged


def staged_after(
    files: dict[str, str], operations: list[Any]
) -> Iterator[tuple[StagedFiles, dict[str, str]]]:
    """Stage the operations; yield the staged files after each, and the texts that they must have."""
    staged, now = in_memory(files), dict(files)
    for kind, path, other, text in operations:
        if change := change_of(kind, path, other, text, now):
            staged.stage([change])
            now.pop(path, None)
            if change.after is not None:
                now[change.move_to or path] = change.after
        yield staged, now


def change_of(kind: str, path: str, other: str, text: str, now: dict[str, str]) -> FileChange | None:
    before = now.get(path)
    if kind == "write":
        return FileChange(path, "create" if before is None else "modify", before, text)
    if before is None or (kind == "move" and other in now):
        return None
    if kind == "delete":
        return FileChange(path, "delete", before, None)
    return FileChange(path, "move", before, text, move_to=other)


def applied(files: dict[str, str], changes: list[FileChange]) -> dict[str, str]:
    """Apply changes as the workspace does: all at once, each to the original text."""
    after = dict(files)
    taken = [path for change in changes for path in (change.path, change.move_to) if path]
    assert len(taken) == len(set(taken))
    for change in changes:
        assert files.get(change.path) == change.before
        assert (change.action == "create") is (change.before is None)
        after.pop(change.path, None)
    for change in changes:
        if change.after is not None:
            after[change.move_to or change.path] = change.after
    return after


@pytest.mark.slow
@settings(max_examples=500)
@given(st.dictionaries(st.sampled_from(NAMES), TEXTS, min_size=2), OPERATIONS)
def test_changes_make_what_was_done(files: dict[str, str], operations: list[Any]) -> None:
    for staged, now in staged_after(files, operations):
        assert {name: staged.text(name) for name in NAMES} == {name: now.get(name) for name in NAMES}
        assert applied(files, staged.changes()) == now


@pytest.mark.slow
@settings(max_examples=500)
@given(st.dictionaries(st.sampled_from(NAMES), TEXTS, min_size=2), OPERATIONS, st.integers(1, 3))
def test_exported_changes_lead_to_the_same_again(
    files: dict[str, str], operations: list[Any], at_once: int
) -> None:
    exported = []
    for number, (staged, _) in enumerate(staged_after(files, operations)):
        if number % at_once == 0:
            exported.append(json.loads(json.dumps(staged.export_change())))
    exported.append(staged.export_change())
    again = StagedFiles()
    for record in exported:
        again.restore(record)
    assert sorted(again.changes(), key=str) == sorted(staged.changes(), key=str)
    assert again.changed_texts() == staged.changed_texts()
    assert (again.export_change(), staged.export_change()) == ({}, {})


async def test_an_exported_change_is_small_and_keeps_the_text_that_was_read(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1_000)]
    write_files(tmp_path, {"a.py": "\n".join(lines)})
    step = StageStep(tmp_path)
    staged = await loaded(step, "a.py")
    first, second = "\n".join(["new", *lines[1:]]), "\n".join(["new", *lines[1:-1], "last"])
    staged.stage([FileChange("a.py", "modify", "\n".join(lines), first)])
    records = [staged.export_change()]
    staged.stage([FileChange("a.py", "modify", first, second)])
    records.append(staged.export_change())
    assert len(json.dumps(records[1])) < 150
    write_files(tmp_path, {"a.py": "what a person saved meanwhile"})
    again = StagedFiles()
    for record in records:
        again.restore(record)
    assert again.changes() == [FileChange("a.py", "modify", "\n".join(lines), second)]
    assert await again.read(step, "a.py") == second  # type: ignore[arg-type]


async def test_what_a_model_was_shown_counts_after_a_restart_only_while_it_is_the_same(
    tmp_path: Path,
) -> None:
    write_files(tmp_path, {"a.py": "one", "b.py": "one"})
    step: Any = StageStep(tmp_path)
    staged = StagedFiles()
    for path in ("a.py", "b.py"):
        await staged.read(step, path)
        assert not staged.was_shown(path)
        staged.note_shown(path)
    record = staged.export_change()
    assert record["files"].keys() == {"a.py", "b.py"}
    assert "one" not in json.dumps(record)
    write_files(tmp_path, {"b.py": "two"})
    again = StagedFiles()
    again.restore(record)
    assert (await again.read(step, "a.py"), await again.read(step, "b.py")) == ("one", "two")
    assert (again.was_shown("a.py"), again.was_shown("b.py")) == (True, False)


async def test_a_file_is_read_anew_until_it_is_edited(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "one"})
    step: Any = StageStep(tmp_path)
    staged = StagedFiles()
    assert await staged.read(step, "a.py") == "one"
    write_files(tmp_path, {"a.py": "two"})
    assert await staged.read(step, "a.py") == "two"
    staged.stage([FileChange("a.py", "modify", "two", "three")])
    write_files(tmp_path, {"a.py": "four"})
    assert await staged.read(step, "a.py") == "three"
    assert staged.changes() == [FileChange("a.py", "modify", "two", "three")]
    assert await staged.read(step, "new.py") is None


async def test_reads_side_by_side_do_not_hide_a_file_from_each_other(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "one"})
    step: Any = StageStep(tmp_path)
    staged = StagedFiles()
    read = await asyncio.gather(*(staged.read(step, "a.py") for _ in range(20)))
    assert read == ["one"] * 20


async def test_an_edit_that_is_staged_while_the_file_is_read_stays(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "one"})
    step: Any = StageStep(tmp_path)
    staged = StagedFiles()
    await staged.read(step, "a.py")
    reading = asyncio.ensure_future(staged.read(step, "a.py"))
    await asyncio.sleep(0)
    staged.stage([FileChange("a.py", "modify", "one", "two")])
    assert await reading == "two"


def test_listed_files_are_those_that_are_wanted() -> None:
    staged = in_memory({"a": "one", "b": "two"})
    staged.stage([FileChange("a", "move", "one", "one", move_to="c"), FileChange("d", "create", None, "")])
    assert staged.listed(["a", "b", "x"]) == ["b", "c", "d", "x"]


def test_a_file_that_is_moved_twice_and_edited_is_moved_once() -> None:
    staged = in_memory({"a": "one"})
    staged.stage([FileChange("a", "move", "one", "one", move_to="b")])
    staged.stage([FileChange("b", "modify", "one", "two")])
    staged.stage([FileChange("b", "move", "two", "two", move_to="c")])
    assert staged.changes() == [FileChange("a", "move", "one", "two", move_to="c")]


def test_what_is_made_in_a_moved_files_place_is_not_lost() -> None:
    staged = in_memory({"a": "one"})
    staged.stage([FileChange("a", "move", "one", "one", move_to="b")])
    staged.stage([FileChange("a", "create", None, "new")])
    assert staged.changes() == [
        FileChange("a", "modify", "one", "new"),
        FileChange("b", "create", None, "one"),
    ]


async def test_files_are_read_as_the_person_sees_them(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "on disk\n"})
    staged = await loaded(StageStep(tmp_path), "a.py", "new.py")
    assert (staged.text("a.py"), staged.text("new.py"), staged.changes()) == ("on disk", None, [])


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../x", "outside the project"),
        (".git/config", "never touches .git"),
        ("dir", "is not a regular file"),
        ("image.png", "is binary"),
        ("unknown.py", "none of the files that may be changed"),
    ],
)
async def test_what_cannot_be_used_says_why(tmp_path: Path, path: str, said: str) -> None:
    write_files(tmp_path, {"dir/a.py": "", ".git/config": ""})
    (tmp_path / "image.png").write_bytes(b"\x89PNG\x00")
    staged = await loaded(StageStep(tmp_path), "../x", ".git/config", "dir", "image.png")
    with pytest.raises(UnusableAnswer, match=said):
        staged.text(path)
    assert not staged.knows(path)


@pytest.mark.parametrize(
    ("decision", "known"),
    [(Decision(True), True), (Decision(False), False), (Decision(True, by="policy"), False)],
)
async def test_only_a_person_gives_a_secret_to_a_model(
    tmp_path: Path, decision: Decision, known: bool
) -> None:
    write_files(tmp_path, {".env": "KEY=1"})
    step = StageStep(tmp_path, decisions=(decision,))
    staged = await loaded(step, ".env")
    assert staged.knows(".env") is known
    assert step.questions == ["Give .env to the model? .env is a file that usually holds secrets."]
    assert (await loaded(step, ".env")).knows(".env") is known  # asked once in a run
