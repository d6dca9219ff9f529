"""Rendering of a patch in colour, and of a reviewed file's hunks with their decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from rich.text import Text

from tideate_core.engine import conflicts_of
from tideate_core.util.escaping import label, visible
from tideate_core.workspace import FileChange, Hunk, apply_hunks, hunk_diff, unified_diff

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

CONFLICT = "conflict: you changed these lines, too; accepting it replaces yours"
STYLES = (
    ("diff --git", "bold"),
    ("new file", "bold"),
    ("deleted file", "bold"),
    ("rename ", "bold"),
    ("---", "bold"),
    ("+++", "bold"),
    ("@@", "cyan"),
    ("-", "red"),
    ("+", "green"),
)
"""Styles by prefix of a patch line; the first match counts."""


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file of a review's payload, with its decisions."""

    change: FileChange
    hunks: tuple[Hunk, ...]
    accepted: frozenset[int] = frozenset()
    """Hunks accepted in an earlier round."""
    rejected: frozenset[int] = frozenset()
    added: tuple[Hunk, ...] = ()
    """Hunks taken from other compared runs in an earlier round."""
    edited: tuple[Mapping[str, Any], ...] = ()
    """The person's versions of hunks, in the form of an answer."""
    whole: bool = False
    """Whether it can only be accepted as a whole, such as a binary."""
    fixed: bool = False
    """Whether it is shown without its text, such as a binary."""
    note: str = ""
    """Remark on changes beside the text."""
    marks: tuple[str, ...] = ()
    """Reasons to look at the file, and its last check."""
    conflicts: frozenset[int] = frozenset()
    """Hunks that can only be accepted one by one."""
    folded: bool = False
    """Kind of a change of form only: a move or new formatting."""

    @classmethod
    def of(cls, shape: Mapping[str, Any]) -> Self:
        """Parse the engine's JSON form."""
        hunks = _hunks(shape["hunks"])
        action, before = shape["action"], shape["before"]
        lines = [] if action == "create" else before.split("\n")
        after = None if action == "delete" else "\n".join(apply_hunks(lines, hunks))
        start = None if action == "create" else before
        change = FileChange(shape["path"], action, start, after, move_to=shape.get("move_to"))
        decided, whole = shape.get("decided", {}), action != "modify" or bool(shape.get("whole"))
        return cls(
            change,
            hunks,
            frozenset(decided.get("accepted", ())),
            frozenset(decided.get("rejected", ())),
            _hunks(decided.get("added", ())),
            () if whole and action != "create" else tuple(decided.get("edited", ())),
            whole,
            bool(shape.get("whole")),
            shape.get("note", ""),
            (*shape.get("marks", ()), *filter(None, [shape.get("checked")])),
            frozenset(conflicts_of(shape)),
            "folded" in shape,
        )

    @property
    def pickable(self) -> bool:
        """True if single hunks can be accepted."""
        return not self.whole

    @property
    def editable(self) -> bool:
        """True if the person can edit its hunks."""
        return self.pickable or (self.change.action == "create" and len(self.hunks) == 1 and not self.fixed)

    @property
    def everything(self) -> list[int]:
        """Indexes of all hunks; `[0]` if the file is decided as a whole."""
        return list(range(len(self.hunks))) if self.pickable else [0]

    @property
    def open(self) -> list[int]:
        """Indexes of undecided hunks."""
        decided = self.accepted | self.rejected
        return [index for index in self.everything if index not in decided]

    @property
    def shown(self) -> tuple[Hunk, ...]:
        """Hunks in the person's versions, if edited."""
        made = {one["hunk"]: tuple(one["new"]) for one in self.edited}
        if not self.pickable and made:
            return (Hunk(0, (), made[0]),) if 0 in made else self.hunks
        return tuple(replace(hunk, new=made.get(at, hunk.new)) for at, hunk in enumerate(self.hunks))

    @property
    def edited_accepted(self) -> list[int]:
        """Indexes of hunks accepted with edits."""
        return sorted({one["hunk"] for one in self.edited} & self.accepted)

    def patch(self, only: Collection[int] | None = None) -> Text:
        """Render the change as a patch.

        :param only: indexes of hunks; None renders all.
        """
        change, target = self.change, None if self.change.move_to is None else label(self.change.move_to)
        if self.edited or (only is not None and self.pickable and len(only) < len(self.hunks)):
            lines = [] if change.action == "create" else (change.before or "").split("\n")
            after = apply_hunks(lines, self.shown, only if self.pickable else None)
            change = replace(change, after="\n".join(after))
        path = label(change.path)
        patch = unified_diff(replace(change, path=path, move_to=target)) or f"diff --git a/{path} b/{path}\n"
        notes = ", ".join(filter(None, [self.note, *self.marks]))
        if not notes:
            return patch_text(patch)
        head, line, rest = patch.partition("\n")
        parts = [patch_text(f"{head}{line}"), Text(visible(notes), style="yellow")]
        return Text("\n").join([*parts, patch_text(rest)] if rest else parts)

    def summary(self) -> Text:
        """Render a change of form in one line."""
        moved = f" → {label(self.change.move_to)}" if self.change.move_to else ""
        what = "moved" if moved else f"only formatted, {len(self.hunks)} hunks"
        return Text(f"{label(self.change.path)}{moved}: {what}", style="dim")

    def hunk_patch(self, index: int) -> Text:
        """Render one hunk with context lines."""
        lines = (self.change.before or "").split("\n")
        patch = patch_text(hunk_diff(lines, self.shown[index]))
        return Text("\n").join([Text(CONFLICT, style="yellow"), patch]) if index in self.conflicts else patch


def _hunks(shapes: Iterable[Mapping[str, Any]]) -> tuple[Hunk, ...]:
    return tuple(Hunk(one["start"], tuple(one["old"]), tuple(one["new"])) for one in shapes)


def patch_text(patch: str) -> Text:
    """Colour a patch."""
    # not splitlines(): other line separators are part of their lines
    lines = patch.removesuffix("\n").split("\n")
    styles = (next((style for start, style in STYLES if line.startswith(start)), "") for line in lines)
    coloured = (Text(visible(line), style=style) for line, style in zip(lines, styles, strict=True))
    return Text("\n").join(coloured)
