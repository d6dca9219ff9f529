"""Record of a guarded copy on disk: its parts, its base, and an update that is under way."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.errors import ScratchUnavailable
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.regular_files import read_regular
from tideate_core.workspace import FileState

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

RECORD: Final = "base.json"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """State of a path in the base that differs from the layers."""

    kind: Literal["absent", "file", "link", "directory"]
    mode: int = 0
    content: str = ""
    """Name of a file with the content, or target of a link."""


@dataclass(frozen=True, slots=True)
class Step:
    """Write of an update: a path, its expected state in the copy, and its new state."""

    path: str
    before: FileState
    after: Kept


@dataclass(frozen=True, slots=True)
class Record:
    """Guarded copy. Paths may contain bytes that are not UTF-8, as lone surrogates."""

    project: str
    kind: Literal["overlay", "copy"]
    mirror: int
    """Number of the mirror below this copy."""
    heavy: tuple[str, ...] = ()
    """Ignored directories with layers of their own; an index is the name of the layers."""
    borrowed: tuple[str, ...] = ()
    """Git directories in the project whose objects are borrowed."""
    outside: str = ""
    """Git directory outside of the project, with a copy of its own."""
    outside_borrowed: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    may_be_copy: bool = False
    """True if a real copy may replace an unavailable overlay."""
    is_far: bool = False
    """True if the project had changed so much since the mirror that a new mirror is due."""
    listing: str = ""
    """Directory of the listing of the base, relative to the directory of all guarded copies."""
    generation: int = 0
    """Number of updates."""
    kept: dict[str, Kept] = field(default_factory=dict)
    """Paths whose base is not that of the layers."""
    stale: tuple[str, ...] = ()
    """Paths that updates could not write, because a program changed them meanwhile."""
    pending: tuple[Step, ...] = ()
    """Update under way; it becomes part of the base."""
    pending_listing: str = ""

    @property
    def is_settled(self) -> bool:
        """No update is under way."""
        return not self.pending_listing

    def settled(self, kept: dict[str, Kept]) -> Record:
        """Return the record after its update.

        :param kept: paths that were updated.
        """
        return replace(
            self,
            listing=self.pending_listing,
            generation=self.generation + 1,
            kept={**self.kept, **kept},
            stale=tuple(step.path for step in self.pending if step.path not in kept),
            pending=(),
            pending_listing="",
        )

    def write(self, place: Path) -> None:
        """Write the record durably.

        :raises OSError: it cannot be written.
        """
        shape = {"version": _VERSION, **asdict(self)}
        write_atomic(place / RECORD, json.dumps(shape, separators=(",", ":")).encode())

    @classmethod
    def read(cls, place: Path) -> Self:
        """Read the record of a guarded copy.

        :raises ScratchUnavailable: there is none, or it is damaged.
        """
        try:
            shape = json.loads(read_regular(place / RECORD))  # only `json` reads names that are not UTF-8
            if shape.pop("version") != _VERSION:
                raise ValueError("another version of tideate made it")
            return cls(**_parsed(shape))
        except (FileNotFoundError, NotADirectoryError) as error:
            if not place.is_dir():
                raise ScratchUnavailable(f"there is no guarded copy {place.name}") from error
            raise ScratchUnavailable(_damaged(place, "its record is missing")) from error
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ScratchUnavailable(_damaged(place, str(error))) from error


def _damaged(place: Path, why: str) -> str:
    return f"the guarded copy {place} cannot be read: {why}; `tideate guard discard` deletes it"


def _parsed(shape: dict[str, Any]) -> dict[str, Any]:
    lists = ("heavy", "borrowed", "outside_borrowed", "notices", "stale")
    steps = (
        Step(step["path"], FileState(**step["before"]), Kept(**step["after"])) for step in shape["pending"]
    )
    return {
        **shape,
        **{name: tuple(shape.get(name, ())) for name in lists},
        "kept": {path: Kept(**one) for path, one in shape["kept"].items()},
        "pending": tuple(steps),
    }
