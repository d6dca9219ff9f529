"""A project for tests of tools: real files, real git, and calls as in the work loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.agents.stage import StageStep
from tests.harness.project import write_files
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.tools.table import tools_named
from tideate_core.agents.tools.tool import ToolContext

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.agents.tools.tool import MayChange
    from tideate_core.workspace import FileChange

__all__ = ["Project"]


class Project:
    """A folder with files, and the tools for it."""

    def __init__(self, root: Path, files: Mapping[str, str] | None = None, **step: Any) -> None:
        self.root = root
        write_files(root, files or {})
        self.step = StageStep(root, **step)
        self.staged = StagedFiles()
        self.may_change: MayChange | None = None

    async def call(self, name: str, /, **arguments: Any) -> str:
        """Call a tool with arguments from a model."""
        (tool,) = tools_named([name], editor=True)
        context = ToolContext(self.step, self.staged, self.may_change)  # type: ignore[arg-type]
        return await tool.work(context, tool.parse(arguments))

    async def stage(self, *changes: FileChange) -> None:
        paths = [path for change in changes for path in (change.path, change.move_to) if path]
        await self.staged.load(self.step, paths)  # type: ignore[arg-type]
        self.staged.stage(changes)
