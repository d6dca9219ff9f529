"""Rollback notes identify rolled back content; damaged notes are ignored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import WorkspaceError
from tideate_core.workspace.file_images import ABSENT, FileImage
from tideate_core.workspace.journal import JournalManifest, Record
from tideate_core.workspace.rollback_notes import (
    RollbackNote,
    RollbackNotes,
    mark_rolled_back,
    rolled_back_all,
    states_of,
    text_state,
    write_notes,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(tmp_path / "0001", JournalManifest(entries=()))


def test_a_text_is_recognised_in_a_buffer_and_in_a_file_of_any_style() -> None:
    dos = FileImage.of_file(b"\xef\xbb\xbfone\r\ntwo\r\n", 0o644)
    assert text_state("one\ntwo") in states_of(dos)
    assert states_of(FileImage(ABSENT)) == ("absent ",)
    assert len(states_of(FileImage.of_file(b"\0", 0o644))) == 1


def test_a_note_is_found_by_any_of_its_states(record: Record) -> None:
    write_notes([RollbackNote(record, "a.py", ("one", "two"), merged=True)])
    notes = RollbackNotes()
    assert notes.merged(record, "a.py", ["other", "two"]) is True
    assert notes.merged(record, "a.py", ["other"]) is None
    assert notes.merged(record, "b.py", ["one"]) is None


def test_states_of_an_earlier_note_stay_and_the_last_merge_counts(record: Record) -> None:
    write_notes([RollbackNote(record, "a.py", ("one",), merged=True)])
    write_notes([RollbackNote(record, "a.py", ("two",), merged=False)])
    notes = RollbackNotes()
    assert notes.merged(record, "a.py", ["one"]) is False
    assert notes.merged(record, "a.py", ["two"]) is False


@pytest.mark.parametrize(
    "content", ["{", "[]", json.dumps({"a.py": {"states": 3}}), json.dumps({"a.py": []})]
)
def test_a_damaged_note_says_nothing(record: Record, content: str) -> None:
    record.directory.mkdir()
    (record.directory / "undone.json").write_text(content)
    assert RollbackNotes().merged(record, "a.py", ["one"]) is None


def test_a_note_that_cannot_be_written_stops_the_rollback(record: Record) -> None:
    record.directory.write_text("a file in its place")
    with pytest.raises(WorkspaceError, match="nothing was restored"):
        write_notes([RollbackNote(record, "a.py", ("one",), merged=False)])


def test_a_marker_beside_the_last_apply_of_each_run_says_whether_something_was_left(tmp_path: Path) -> None:
    records = []
    for place in ("one/0001", "two/0001", "one/0002"):
        (tmp_path / place).mkdir(parents=True)
        records.append(Record(tmp_path / place, JournalManifest(entries=())))
    first, two, last = (record.directory for record in records)
    mark_rolled_back(records, ["a.py"], ["b.py"])
    assert [rolled_back_all(place) for place in (first, two, last)] == [None, False, False]
    mark_rolled_back(records, ["a.py", "b.py"], [])
    assert [rolled_back_all(place) for place in (first, two, last)] == [None, True, True]


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"left": ""}', '{"left": {}}', "[" * 100_000, "\udcff"]
)
def test_a_damaged_marker_says_nothing(record: Record, content: str) -> None:
    record.directory.mkdir()
    (record.directory / "rolled_back.json").write_text(content, errors="surrogateescape")
    assert rolled_back_all(record.directory) is None


def test_a_marker_that_cannot_be_written_is_told_and_stops_nothing(
    record: Record, caplog: pytest.LogCaptureFixture
) -> None:
    record.directory.write_text("no directory")
    mark_rolled_back([record], [], [])
    assert "so this rollback is looked at again" in caplog.text
