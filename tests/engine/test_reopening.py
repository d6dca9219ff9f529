"""Only the review of a run that has ended is opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.past import NOON, Past, run_id
from tideate_core.engine.fork.forking import declined_question
from tideate_core.errors import InvalidInput, RunEnded
from tideate_core.store import Store

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_run_that_has_no_review_to_open_again_is_refused_with_the_reason(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "private")
    past = Past(store, 1, request={"prompt": "p"}, at=NOON)
    await past.begin()
    with pytest.raises(RunEnded, match="has not ended; `tideate resume"):
        declined_question(store.reader(), run_id(1))
    await past.end()
    with pytest.raises(InvalidInput, match="no review of it was declined or left open"):
        declined_question(store.reader(), run_id(1))
    cancelled = Past(store, 2, request={"prompt": "p"}, at=NOON)
    await cancelled.begin()
    await cancelled.end(status="cancelled")
    with pytest.raises(InvalidInput, match="is cancelled; no review of it"):
        declined_question(store.reader(), run_id(2))
    store.close()
