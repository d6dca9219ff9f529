"""Reading, choosing and counting a project's runs; their JSON form."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.app.stored import run_row
from tideate_core.app import gates_json, read_runs, run_json, short_id
from tideate_core.errors import RunNotFound
from tideate_core.store import GateCount, Tokens

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".tideate").mkdir()
    return tmp_path


def test_what_is_read_is_returned(root: Path) -> None:
    assert asyncio.run(read_runs(root, lambda reader: reader.runs(limit=1))) == []


def test_an_error_of_the_reader_is_raised(root: Path) -> None:
    with pytest.raises(RunNotFound):
        asyncio.run(read_runs(root, lambda reader: reader.run("abc")))


def test_a_short_id_keeps_the_ordinal_of_a_checkpoint() -> None:
    assert short_id("abcdef0123456789") == "abcdef01"
    assert short_id("abcdef0123456789.12") == "abcdef01.12"


def test_the_json_form_names_the_owner_without_its_boot_and_a_cost_only_if_known() -> None:
    shape = run_json(run_row(tokens=Tokens(3, 4)))
    assert shape["owner"] == {"pid": 42, "host": "machine", "alive": True, "heartbeat_at": 0}
    assert shape["usage"] == {"input_tokens": 3, "output_tokens": 4}
    priced = run_json(run_row(lease=None, tokens=Tokens(3, 4, 0.5, 2)))
    assert priced["usage"]["cached_tokens"] == 2
    assert (priced["owner"], priced["usage"]["cost"], priced["state"]) == (None, 0.5, "interrupted")


def test_all_five_gates_are_listed_also_those_that_decided_nothing() -> None:
    count = GateCount(2, passed=1, failed=1, total_ms=30, longest_ms=20)
    shape = gates_json({2: count})
    assert [gate["gate"] for gate in shape] == [1, 2, 3, 4, 5]
    assert (shape[1]["name"], shape[1]["average_ms"]) == ("audit", 15)
    assert "average_ms" not in shape[0]
