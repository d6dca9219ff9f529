"""Registration of workflows and handlers, also by installed packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workflows.definition_texts import query
from tideate_core.errors import InvalidDefinition
from tideate_core.workflows import (
    WorkflowDefinition,
    WorkflowRegistry,
)

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
from tideate_core.workflows import WorkflowDefinition

async def greet(step):
    return "hello " + step.prompt

def register(registry):
    registry.register(WorkflowDefinition.chain("greet", ["greet"]), {"greet": greet})

def broken(registry):
    raise ValueError("no such colour")

def clash(registry):
    registry.register(WorkflowDefinition.chain("cancel", ["greet"]), {})
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that only lacks its entry points."""
    (tmp_path / "greeting_workflows.py").write_text(MODULE)
    info = tmp_path / "greeting_workflows-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting-workflows\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return info / "entry_points.txt"


def test_a_package_registers_its_workflows(package: Path) -> None:
    package.write_text("[tideate.workflows]\ngreet = greeting_workflows:register\n")
    registry = WorkflowRegistry()
    registry.load_packages()
    known = registry.get("greet")
    assert known.source == "package"
    assert list(known.handlers) == ["greet"]
    assert registry.notices == []


@pytest.mark.parametrize(
    "target",
    ["greeting_workflows:clash", "greeting_workflows:broken", "greeting_workflows:gone", "no_such_module:f"],
)
def test_a_package_that_cannot_becomes_a_notice(
    package: Path, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    package.write_text(f"[tideate.workflows]\nbad = {target}\n")
    registry = WorkflowRegistry()
    registry.load_packages()
    assert registry.list() == []
    (notice,) = registry.notices
    assert target in notice
    assert "Traceback" in caplog.text


def test_a_name_belongs_to_whoever_registered_it_first() -> None:
    registry = WorkflowRegistry()
    mine = WorkflowDefinition.chain("mine", ["a"])
    registry.register(mine, {"a": query}, source="builtin")
    with pytest.raises(InvalidDefinition, match=r"exists already \(builtin\)"):
        registry.register(mine, {"a": query}, source="editor")
    registry.register(mine, {}, source="builtin")
    assert registry.get("mine").handlers == {}


def test_a_handler_for_no_step_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="does not list: b"):
        WorkflowRegistry().register(WorkflowDefinition.chain("mine", ["a"]), {"a": query, "b": query})
