"""Choice of a snapshot by the beginning of its id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tideate_core.app import choose_snapshot
from tideate_core.errors import InvalidInput, SnapshotNotFound

DAMAGED = "f" * 16


@dataclass
class Listed:
    id: str


class Snapshots:
    """Lists ids, the oldest first, as a manager does."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids

    async def list(self) -> list[Listed]:
        return [Listed(identity) for identity in self.ids]


async def chosen(wanted: str | None, *ids: str, **rest: Any) -> str:
    return await choose_snapshot(Snapshots(*ids), wanted, **rest)  # type: ignore[arg-type]


async def test_without_an_id_the_newest_is_meant() -> None:
    assert await chosen(None, "aa01", "ab02") == "ab02"
    with pytest.raises(SnapshotNotFound, match="no snapshots yet"):
        await chosen(None)


async def test_a_beginning_has_to_name_one() -> None:
    assert await chosen("ab", "aa01", "ab02") == "ab02"
    with pytest.raises(InvalidInput, match="several snapshots begin with 'a': aa01, ab02"):
        await chosen("a", "aa01", "ab02")
    with pytest.raises(SnapshotNotFound, match="no snapshot has the id ''"):
        await chosen("", "aa01")


async def test_a_damaged_one_is_named_by_its_whole_id_where_that_is_allowed() -> None:
    assert await chosen(DAMAGED, "aa01", damaged=True) == DAMAGED
    for wanted, damaged in ((DAMAGED, False), (DAMAGED[:8], True)):
        with pytest.raises(SnapshotNotFound, match="the list has them"):
            await chosen(wanted, "aa01", damaged=damaged, hint="the list has them")
