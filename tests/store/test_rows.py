"""Rows of the store's tables as records: each column is where its record has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.store import rows
from tideate_core.store.objects import Objects
from tideate_core.store.records import CheckpointRow, EventRow, Graph, Tokens

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path)


def test_a_step_that_has_not_begun_has_no_result_and_no_files(objects: Objects) -> None:
    row = ("s", "name", "coder", "task", "pending", 0, '["a"]', None, None, None)
    step = rows.step_of((*row, None, None, None, 1, 2, None, "[]", None, 1), objects)
    assert (step.dependencies, step.result, step.files, step.order) == (("a",), None, (), None)
    assert step.tokens == Tokens(1, 2, None, 1)


def test_a_result_of_json_null_is_read_as_none_and_a_list_stays_a_list(objects: Objects) -> None:
    row = ("s", "name", "coder", "task", "completed", 1, "[]")
    rest = (None, None, 10, 20, 10, 0, 0, 0.5, '["x.py","y.py"]', 3, 0)
    assert rows.step_of((*row, "null", *rest), objects).result is None
    step = rows.step_of((*row, "[1]", *rest), objects)
    assert (step.result, step.files, step.started_at, step.completed_at) == ([1], ("x.py", "y.py"), 10, 20)
    assert (step.order, step.tokens.cost) == (3, 0.5)


def test_a_definition_of_an_earlier_version_has_empty_texts_for_what_it_lacks() -> None:
    definition = rows.definition_of(("id", "review", "graph", "{}", None, None, "project", None))
    assert (definition.description, definition.version, definition.path) == ("", "", None)


def test_lists_of_a_graph_become_tuples(objects: Objects) -> None:
    graph = rows.graph_of(('["a","b"]', '[["a","b"]]', '[["a"],["b"]]'), objects)
    assert graph == Graph(("a", "b"), (("a", "b"),), (("a",), ("b",)))


def test_an_event_and_a_checkpoint_are_read_column_by_column(objects: Objects) -> None:
    assert rows.event_of((1, "step", 5, '{"a":1}'), objects) == EventRow(1, "step", 5, {"a": 1})
    assert rows.checkpoint_of(("c", "r", "s", 2, 9, 1, 7)) == CheckpointRow("c", "r", "s", 2, 9, 7, True)
