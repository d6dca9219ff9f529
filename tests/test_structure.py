"""The structure figures: which imports count, for what."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.structure import (
    Modules,
    bypasses,
    components,
    figures,
    import_edges,
    importers,
    mirror_of,
    parse_module,
)

FACE = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from tideate_core.store.rows import Row
"""


def read(**texts: str) -> Modules:
    """Parse modules; `a__b` stands for `tideate_core/a/b.py`, `a__` for `tideate_core/a/__init__.py`."""
    found = {}
    for name, text in texts.items():
        *folders, stem = name.split("__")
        module = parse_module(Path("tideate_core", *folders, f"{stem or '__init__'}.py"), text)
        found[module.name] = module
    return found


def past_a_face(modules: Modules) -> list[str]:
    return [target.removeprefix("tideate_core.") for _, _, target in bypasses(modules)]


@pytest.mark.parametrize(
    "text",
    [
        "from tideate_core.store.rows import Row",
        "from tideate_core.store import rows",
        "import tideate_core.store.rows",
        "def later():\n    from tideate_core.store.rows import Row",
        "if TYPE_CHECKING:\n    from tideate_core.store.rows import Row",
        "HANDLER = 'tideate_core.store.rows:Row'",
    ],
)
def test_another_rooms_module_is_past_its_face(text: str) -> None:
    modules = read(store__="", store__rows="class Row: ...", engine__run=text)
    assert past_a_face(modules) == ["store.rows"]


@pytest.mark.parametrize(
    "text",
    [
        "from tideate_core.store import Row",
        "from tideate_core.errors import StoreError",
        "from tideate_core.engine.steps import perform",
        "from tideate_core.mcp.client import MCPClient",
        "WORDS = 'tideate_core.store.rows keeps rows'",
    ],
)
def test_a_face_a_module_of_the_same_room_and_words_are_not(text: str) -> None:
    modules = read(
        store__=FACE,
        store__rows="",
        errors="",
        engine__steps__="",
        mcp__="",
        mcp__client__="",
        engine__run=text,
    )
    assert past_a_face(modules) == []


def test_a_name_that_a_face_hands_on_leads_to_its_home() -> None:
    modules = read(store__=FACE, store__rows="", engine__run="from tideate_core.store import Row")
    run, rows = "tideate_core.engine.run", "tideate_core.store.rows"
    assert import_edges(modules)[run] == {"tideate_core.store", rows}
    assert import_edges(modules, at_start_only=True)[run] == {"tideate_core.store"}
    assert importers(modules)[rows] == {run}


def test_cycles_count_imports_in_functions_and_not_those_for_types() -> None:
    modules = read(
        a="def f():\n    import tideate_core.b",
        b="from tideate_core.c import x",
        c="from tideate_core.a import f",
        d="if TYPE_CHECKING:\n    from tideate_core.a import f",
    )
    assert components(import_edges(modules)) == [["tideate_core.a", "tideate_core.b", "tideate_core.c"]]
    assert components(import_edges(modules, at_start_only=True)) == []


def test_sizes_are_those_of_modules_and_tests_are_found_by_name() -> None:
    modules = read(a__="x = 1\n" * 500, a__b="x = 1\n" * 401, a__c="x = 1\n" * 5, d="def f():\n    pass\n")
    found = figures(modules, ["tests/a/test_b.py", "tests/test_d.py", "tests/a/test_other.py"])
    assert (found.modules, found.packages, found.median_module) == (4, 1, 5)
    assert found.over_400 == ["tideate_core.a.b"]
    assert found.under_60 == ["tideate_core.d", "tideate_core.a.c"]
    assert found.lines_by_room == {"tideate_core.a": 906, "tideate_core.d": 2}
    assert (found.tests_by_name, found.test_files) == (2, 3)
    assert mirror_of("tideate_core/a/b.py") == "tests/a/test_b.py"
