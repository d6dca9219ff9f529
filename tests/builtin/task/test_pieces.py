"""Small functions of the gated task on their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tideate_core.builtin.task.changes import _read_back
from tideate_core.builtin.task.definition import TaskHooks
from tideate_core.builtin.task.gates import _text_of

if TYPE_CHECKING:
    from tideate_core.workspace import Workspace


def test_a_person_who_changed_nothing_leaves_the_text_as_it_was() -> None:
    assert _text_of(None, "# Plan\n") == "# Plan\n"


async def test_a_deletion_needs_no_text_to_be_read_back() -> None:
    shape = {"path": "old.py", "action": "delete", "digest": None}
    change = await _read_back(cast("Workspace", None), shape, None)
    assert (change.path, change.action, change.before, change.after) == ("old.py", "delete", None, None)


def test_a_task_that_wrote_nothing_starts_no_step_anew() -> None:
    assert TaskHooks().restart(["planning", "auditing"]) == ()
