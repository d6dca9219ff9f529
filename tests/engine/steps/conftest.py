"""Workflows as a person writes them, run on the real runner."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tideate_core.workflows.checking import KnownNames
from tideate_core.workflows.parsing import WorkflowParser

if TYPE_CHECKING:
    from tests.harness.bench import Bench


class Write(Protocol):
    def __call__(self, text: str, name: str = "flow", **handlers: Any) -> None: ...


@pytest.fixture
def write(bench: Bench) -> Write:
    """Register a workflow from the text of its YAML file; handlers by step."""

    def register(text: str, name: str = "flow", **handlers: Any) -> None:
        parsed = WorkflowParser(KnownNames(agents=None)).parse(
            dedent(text), format="yaml", name=name, path=None
        )
        bench.registry.register(parsed.require(), handlers)

    return register
