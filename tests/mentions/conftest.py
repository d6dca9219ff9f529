from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".tideate").mkdir(parents=True)
    (root / "doc").mkdir()
    (root / "src").mkdir()
    (root / "src" / "one.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n")
    (root / "doc" / "guide.md").write_text("# Guide\n\nRead it.\n\n## Errors\n\nThey are told.\n\n## End\n")
    return root


@pytest.fixture
def configure(root: Path) -> Callable[..., None]:
    """Write `context.json` with these mappings."""

    def write(**mappings: Any) -> None:
        named = {f"@{name}": value for name, value in mappings.items()}
        (root / ".tideate" / "context.json").write_text(json.dumps({"version": "1.0.0", "mappings": named}))

    return write
