"""Facts about a bundle, for a person who decides whether to open it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine import EventName
from tideate_core.portable.origin import content_digest, has_commit
from tideate_core.workspace import Root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.portable.bundle_format import ChangedFile, ChangedMode, Manifest, Record
    from tideate_core.store import RunRows

TITLE: Final = 200
"""Maximum characters of a prompt and of a question."""
_CONFIRMED: Final = ".confirm:"
"""Part of the key of a recorded answer."""


@dataclass(frozen=True, slots=True)
class BundleFacts:
    """Facts about a bundle; texts are untrusted and must be escaped."""

    run: str
    workflow: str
    prompt: str
    """The beginning of the prompt."""
    state: str
    """`completed`, `failed`, `cancelled`, `waits` for an answer, or `paused`."""
    completed_steps: int
    total_steps: int
    question: str
    """The message of the open question, empty if there is none."""
    adapter: str
    """The model or agent with which the run works."""
    answers: int
    """Accepted answers that the run has not acted on yet."""
    project: str
    base: str | None
    """Commit that was checked out; None outside of git."""
    made_at: int
    """Milliseconds since the epoch."""
    version: str
    """Version of tideate that created it."""
    written: tuple[str, ...]
    read: tuple[str, ...]
    left: tuple[str, ...]
    """Changed buffers that are not in the bundle."""
    size: int
    """Bytes of the bundle."""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        names = {"run": "execution_id"}
        shape = {names.get(name, name): getattr(self, name) for name in self.__slots__}
        return {name: list(one) if isinstance(one, tuple) else one for name, one in shape.items()}


@dataclass(frozen=True, slots=True)
class FactsHere:
    """Differences between a project and the one that a bundle comes from."""

    has_base: bool | None
    """The repository here has the base commit; None if the bundle names none."""
    differs: tuple[str, ...]
    """Files that the run read or wrote and that have another content here."""
    same: tuple[str, ...]


def facts_of(manifest: Manifest, rows: Sequence[RunRows], size: int) -> BundleFacts:
    """Return the facts about a bundle."""
    run, origin = rows[0].run, manifest.origin
    request = run["request"]
    question = next(filter(None, map(_question, rows)), "")
    state = run["status"]
    if state not in ("completed", "failed", "cancelled"):
        state = "waits" if question else "paused"
    return BundleFacts(
        run=run["id"],
        workflow=rows[0].definition.name,
        prompt=str(request.get("prompt") or "")[:TITLE],
        state=state,
        completed_steps=run["completed_steps"],
        total_steps=run["total_steps"],
        question=question[:TITLE],
        adapter=_adapter(rows[0]),
        answers=sum(map(_answers, rows)),
        project=origin.project,
        base=origin.base,
        made_at=origin.made_at,
        version=origin.version,
        written=tuple(dict.fromkeys(one.path for record in manifest.journal for one in _changes(record))),
        read=tuple(one.path for one in manifest.seen if not one.written),
        left=manifest.left,
        size=size,
    )


def facts_here(manifest: Manifest, root: Path) -> FactsHere:
    """Compare a bundle with the project here; blocking."""
    base, place = manifest.origin.base, Root(root)
    same: list[str] = []
    differs: list[str] = []
    for one in manifest.seen:
        (same if content_digest(place, one.path) == one.digest else differs).append(one.path)
    return FactsHere(None if base is None else has_commit(root, base), tuple(differs), tuple(same))


def _changes(record: Record) -> tuple[ChangedFile | ChangedMode, ...]:
    return (*record.files, *record.modes)


def _question(rows: RunRows) -> str:
    """Return the message of a run's open question, empty if it has none."""
    asked: dict[str, str] = {}
    for row in rows.tables["workflow_events"]:
        step = str(row["data"].get("step"))
        if row["name"] == EventName.CONFIRMATION_REQUIRED.value:
            asked[step] = str(row["data"].get("message") or row["data"].get("kind") or "")
        elif row["name"] == EventName.CONFIRMATION_ANSWERED.value:
            asked.pop(step, None)
    return next(iter(asked.values()), "") if rows.run["completed_at"] is None else ""


def _adapter(rows: RunRows) -> str:
    begins = (EventName.WORKFLOW_STARTED.value, EventName.WORKFLOW_RESTORED.value)
    used = [row["data"].get("adapter") for row in rows.tables["workflow_events"] if row["name"] in begins]
    return str(used[-1] if used else rows.run["request"].get("adapter") or "")


def _answers(rows: RunRows) -> int:
    ended = {
        row["step_id"]
        for row in rows.tables["workflow_steps"]
        if row["status"] in ("completed", "failed", "skipped")
    }
    if rows.run["status"] in ("completed", "failed", "cancelled"):
        return 0
    return sum(_is_accepted(row) for row in rows.tables["workflow_memos"] if row["step_id"] not in ended)


def _is_accepted(memo: Mapping[str, Any]) -> bool:
    value = memo["value"]
    return _CONFIRMED in memo["key"] and isinstance(value, dict) and value.get("accepted") is True
