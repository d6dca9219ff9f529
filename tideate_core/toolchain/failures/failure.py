"""One thing that a tool found wrong, whatever the tool."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Failure", "Severity", "project_path"]

Severity: TypeAlias = Literal["error", "warning", "note"]

_QUICKFIX: Final[Mapping[Severity, str]] = {"error": "E", "warning": "W", "note": "I"}


@dataclass(frozen=True, slots=True)
class Failure:
    """Where something is wrong, and what."""

    file: str
    """Relative to the project's root, absolute if it is outside; empty if the tool named none."""
    line: int | None
    """1-based."""
    column: int | None
    """1-based, as the tool counts."""
    message: str
    code: str = ""
    """The tool's name for this kind: a rule, an exception, a warning's option."""
    severity: Severity = "error"
    tool: str = ""
    test: str = ""
    """The test that failed, whose name the message then begins with, where it is one."""

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        code = f" [{self.code}]" if self.code else ""
        return f"{where}: {self.message}{code}" if where else f"{self.message}{code}"

    def as_json(self) -> dict[str, Any]:
        """Return it as an entry of `setqflist()`, with `code` and `tool` beside."""
        return {
            "filename": self.file,
            "lnum": self.line or 0,
            "col": self.column or 0,
            "text": f"{self.message} [{self.code}]" if self.code else self.message,
            "type": _QUICKFIX[self.severity],
            "code": self.code,
            "tool": self.tool,
        }


def project_path(name: str, root: Path) -> str:
    """Return a path as a tool printed it relative to the root where it is inside, else absolute."""
    path = Path(os.path.normpath(root / name.removeprefix("file://")))
    for base in (root, Path(os.path.realpath(root))):
        if path.is_relative_to(base):
            return str(path.relative_to(base))
    return str(path)
