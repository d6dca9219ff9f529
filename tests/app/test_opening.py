"""Messages about an interrupted restore, and its recovery before a run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tideate_core.app import interrupted_restore, recover_before, recovery_names, recovery_words

if TYPE_CHECKING:
    from pathlib import Path


def test_ten_files_are_named_and_more_are_counted() -> None:
    names = [f"{n}.py" for n in range(12)]
    assert recovery_names(names[:10]).endswith("8.py, 9.py")
    assert recovery_names(names).endswith("8.py, 9.py and 2 more")
    assert recovery_words(["a.py"]).endswith("what they were before it: a.py")


def test_where_no_restore_was_interrupted_nothing_is_said_or_made(root: Path) -> None:
    said: list[str] = []
    for place in (root, None):
        assert asyncio.run(interrupted_restore(place)) == []
        asyncio.run(recover_before(place, said.append))
    assert said == []
    assert list(root.iterdir()) == []
