"""Paths in `.tideate/` that any version of tideate reads or writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["FORGED_RUN", "FORGED_SNAPSHOT", "TARGETS", "Target"]

FORGED_RUN: Final = "f00d" * 8
FORGED_SNAPSHOT: Final = "20260101T000000-f00df00d"
OBJECT: Final = "0f" * 32


@dataclass(frozen=True, slots=True)
class Target:
    """Path below `.tideate/`; the empty one is `.tideate` itself."""

    name: str
    is_directory: bool = False
    suffix: str = ""
    """Suffix of a directory's usual files."""
    ends_commands: bool = False
    """A mistake here ends most commands early and hides the rest of the tree."""

    @property
    def area(self) -> str:
        """First component: trees at two areas do not overlap."""
        return self.name.split("/")[0]


def _directories(*names: str, suffix: str = "") -> list[Target]:
    return [Target(name, is_directory=True, suffix=suffix) for name in names]


def _files(*names: str) -> list[Target]:
    return [Target(name) for name in names]


_APPLY: Final = f"{FORGED_RUN}/0001"

TARGETS: Final = (
    Target("", is_directory=True, suffix=".json", ends_commands=True),
    # for the team
    Target("config.toml", ends_commands=True),
    Target("context.json", ends_commands=True),
    *_directories("workflows", suffix=".yaml"),
    *_files("workflows/review.yaml", "workflows/review.json", "workflows/loop.workflow"),
    *_directories("agents", "prompts", suffix=".md"),
    *_files("agents/planner.md", "prompts/ask.md", "prompts/refactor.md"),
    *_files("workflow.schema.json", ".gitignore"),
    # the database of earlier versions, and results beside it
    *_files("tideate.db", "tideate.db-wal", "tideate.db-shm"),
    *_directories("objects", "objects/0f"),
    *_files(f"objects/{OBJECT}", f"objects/0f/{OBJECT}"),
    # what runs changed
    *_directories("journal", f"journal/{FORGED_RUN}", f"journal/{_APPLY}"),
    *_files(
        f"journal/{_APPLY}/manifest.json", f"journal/{_APPLY}/before", f"journal/{FORGED_RUN}/undone.json"
    ),
    # snapshots
    *_directories("snapshots", suffix=".json"),
    *_directories("snapshots/packs", suffix=".pack"),
    *_directories("snapshots/journal", f"snapshots/journal/{FORGED_RUN}"),
    *_files(
        "snapshots/listing",
        "snapshots/lock",
        f"snapshots/{FORGED_SNAPSHOT}.json",
        f"snapshots/packs/{FORGED_SNAPSHOT}.pack",
        f"snapshots/journal/{_APPLY}/manifest.json",
        f"snapshots/journal/{_APPLY}/before",
    ),
    # the servers
    *_directories("mcp", "mcp/filesystem", "mcp/filesystem/journal", "mcp/git", "mcp/test", "mcp/build"),
    *_files("mcp/filesystem/lock", "mcp/filesystem/under_way", "mcp/filesystem/changes"),
    *_files("mcp/git/lock", "mcp/git/commit_info.json", "mcp/test/lock", "mcp/build/lock"),
    # documents of the handoff and of runs
    *_directories("checkpoints", "workflow", "workflow/reports", suffix=".json"),
    *_files("checkpoints/checkpoint_20260101T000000000Z.json"),
    *_files("workflow/state.json", "workflow/reports/run-summary.json"),
    *_directories("planner", "planner/output", "coder", "coder/build", suffix=".json"),
    *_files("planner/output/plan_v1.json", "coder/build/a.json", "coder/build/a.patch"),
    *_directories("qa", "qa/input", "qa/reports", "verify", suffix=".json"),
    *_files("qa/input/test_manifest.json", "qa/reports/test_results.json", "verify/report.json"),
    # keys and state that now are elsewhere
    *_directories("keys"),
    *_files("keys/workflow.key", "workflow.key", "journal.key", "trust.json", "trusted-definitions.json"),
    *_files("project.json", "host.log", "shell.log"),
    *_directories("stores", "moving", "projects"),
)
