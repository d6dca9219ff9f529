"""Shells and editors as in `tests/cli` and `tests/editor`, for attacks on them."""

from __future__ import annotations

from tests.cli.conftest import answering, shell
from tests.editor.conftest import editor, start_editor

__all__ = ["answering", "editor", "shell", "start_editor"]
