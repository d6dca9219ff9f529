"""Drafts of reviews and other long answers, kept until the question is answered."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import PersonNeeded
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.json_digest import digest_of
from tideate_core.util.private_files import make_private_directory, open_private
from tideate_core.util.regular_files import read_regular
from tideate_core.workspace import Hunk, HunkIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tideate_core.engine.events import ConfirmationRequest


FOLDER: Final = "reviews"
PASSING: Final = frozenset({"buffer", "tick", "digest", "decided", "checked"})
"""Fields of a file that differ between processes."""
STATES: Final = frozenset("aro")
"""Accepted, rejected, undecided."""
_Decision = list[Any]
_Units = list[tuple[str, list[str]]]


@dataclass(slots=True)
class KeptReview:
    """Current decisions of a review's draft; files by index."""

    accepted: dict[int, set[int]] = field(default_factory=dict)
    rejected: dict[int, set[int]] = field(default_factory=dict)
    added: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """Hunks taken from other runs of a comparison."""
    edited: dict[int, dict[int, dict[str, list[str]]]] = field(default_factory=dict)
    """Lines that the person wrote in place of hunks, with the lines they replace; no rejected hunks."""
    proposed: dict[int, set[int]] = field(default_factory=dict)
    """Hunks restored to the proposal; edits of earlier rounds no longer apply."""
    open: dict[int, set[int]] = field(default_factory=dict)
    """Hunks that are undecided again."""
    comments: list[tuple[int | None, int | None, str]] = field(default_factory=list)
    """File, hunk and text; without a hunk about the whole file, without a file about the whole change."""
    about: set[tuple[int | None, int | None]] = field(default_factory=set)
    """Decided or commented parts, by file and hunk as in comments; earlier comments on them do not apply."""

    lost: int = 0
    """Decisions whose part is missing here, or that cannot be read."""
    steps: int = 0
    """The steps to the current state, without reverted ones."""
    by_editor: bool = False
    """Neovim wrote last."""

    def __bool__(self) -> bool:
        return bool(self.accepted or self.rejected or self.added or self.comments or self.edited)


def prepare_draft(private: Path, run: str, step: str, key: str, files: Sequence[Mapping[str, Any]]) -> Path:
    """Create or update the draft file of a review's question; blocking.

    :param private: the project's private state.
    :param key: identifies the question in its step.
    :param files: the files that the question shows.
    :raises OSError: it cannot be created or read.
    """
    path = prepare_empty_draft(private, run, step, key)
    log, units = _Log.read(path), [(file["path"], _names(file)) for file in files]
    if log.units != units:
        log.renumber(units)
        write_atomic(path, "".join(map(_line, log.steps())).encode())
    return path


def prepare_empty_draft(private: Path, run: str, step: str, key: str) -> Path:
    """Create the draft file of a question unless it exists; blocking.

    :param private: the project's private state.
    :param key: identifies the question in its step.
    :raises OSError: it cannot be made.
    """
    path = _draft_path(private, run, step, key)
    make_private_directory(path.parent)
    os.close(open_private(path, os.O_WRONLY | os.O_CREAT))
    return path


def may_have_draft(private: Path, run: str, step: str, key: str) -> bool:
    """Tell whether a question has a draft, or may have one that cannot be read; blocking."""
    try:
        return _draft_path(private, run, step, key).stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _draft_path(private: Path, run: str, step: str, key: str) -> Path:
    return draft_folder(private, run) / f"{digest_of(step, key)}.jsonl"


def kept_review(path: Path) -> KeptReview:
    """Read a draft; damaged lines are left out. Blocking.

    :raises OSError: it cannot be read.
    """
    return _Log.read(path).kept()


def write_draft(path: Path, steps: Iterable[Mapping[str, Any]]) -> None:
    """Append steps to a draft, after ending a line that a crash truncated; blocking.

    :raises OSError: it cannot be written.
    """
    with os.fdopen(open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "a+b") as file:
        if size := file.tell():
            file.seek(size - 1)
        cut = bool(size) and file.read() != b"\n"
        file.write("".join(("\n" if cut else "", *map(_line, steps))).encode())


def draft_folder(private: Path, run: str) -> Path:
    """Return the folder of a run's drafts."""
    return private / FOLDER / run


def portable_drafts(private: Path, run: str) -> dict[str, bytes]:
    """Return a run's drafts by file name, without the processes that wrote them; blocking.

    :raises OSError: one cannot be read.
    """
    folder = draft_folder(private, run)
    if not folder.is_dir():
        return {}
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        steps = [step for step in steps_of(path) if step and "by" not in step]
        if steps:
            found[path.name] = "".join(map(_line, steps)).encode()
    return found


async def forget_drafts(private: Path, run: str, warn: Callable[[str], object]) -> None:
    """Remove the drafts of a completed run.

    :param warn: called if they cannot be removed.
    """
    try:
        await asyncio.to_thread(shutil.rmtree, draft_folder(private, run))
    except FileNotFoundError:
        pass  # there was no review
    except OSError as error:
        warn(f"the review drafts of the run {run} cannot be removed: {error}")


def steps_of(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the steps of a draft; None for a truncated or damaged line."""
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return
    for line in filter(None, text.split("\n")):
        try:
            step = json.loads(line)
            _line(step).encode()  # refuse surrogates, which could not be written again
        except (ValueError, RecursionError):
            yield None
        else:
            # an empty line ends a truncated one
            yield step if isinstance(step, dict) else None if step else {}


def _line(step: Mapping[str, Any]) -> str:
    return f"{json.dumps(step, ensure_ascii=False, separators=(',', ':'))}\n"


def hunk_count_of(file: Mapping[str, Any]) -> int:
    """Return the number of parts of a reviewed file that are decided separately."""
    return len(_names(file))


def conflicts_of(file: Mapping[str, Any]) -> set[int]:
    """Return the parts of a reviewed file that need separate decisions."""
    if file.get("conflict"):
        return {0}
    return {at for at, hunk in enumerate(file["hunks"]) if hunk.get("conflict")}


def _names(file: Mapping[str, Any]) -> list[str]:
    """Return the names of a file's parts: position and digest of each hunk, or of the whole file."""
    hunks = file["hunks"]
    if file["action"] != "modify" or file.get("whole") or not hunks:
        return [f"*:{digest_of({name: value for name, value in file.items() if name not in PASSING})}"]
    return [f"{hunk['start']}:{digest_of(hunk['old'], hunk['new'])}" for hunk in hunks]


@dataclass(slots=True)
class _Log:
    """Log of a draft's steps."""

    units: _Units = field(default_factory=list)
    owner: dict[str, Any] | None = None
    """The last process's line."""
    past: list[list[_Decision]] = field(default_factory=list)
    future: list[list[_Decision]] = field(default_factory=list)
    """Reverted steps, the last one at the end."""
    lost: int = 0

    @classmethod
    def read(cls, path: Path) -> _Log:
        log = cls()
        for step in steps_of(path):
            if step is None:
                log.lost += 1
            else:
                log._add(step)
        return log

    def _add(self, step: dict[str, Any]) -> None:
        made, again, lost = step.get("decided"), step.get("again"), step.get("lost")
        if type(lost) is int:
            self.lost += max(lost, 0)
        elif "of" in step:
            # earlier decisions are about the parts before this step
            if _are_units(step["of"]) and not (self.past or self.future):
                self.units = [(path, names) for path, names in step["of"]]
        elif "by" in step:
            self.owner = step
        elif isinstance(made, list):
            self.past.append([one for one in made if self._is_decision(one)])
            self.lost += len(made) - len(self.past[-1])
            self.future = []
        elif again == "past" and self.past:
            self.future.append(self.past.pop())
        elif again == "future" and self.future:
            self.past.append(self.future.pop())

    def _is_decision(self, one: Any) -> bool:
        if not isinstance(one, list) or len(one) not in (4, 5, 6):
            return False
        file, hunk, state, comment = one[:4]
        if not (type(file) is type(hunk) is int and 0 <= file <= len(self.units)):
            return False
        if not isinstance(state, str) or (file and state not in STATES):
            return False
        if comment is not None and not (isinstance(comment, dict) and isinstance(comment.get("text"), str)):
            return False
        if len(one) > 4 and one[4] is not None and not _is_hunk(one[4]):
            return False
        if len(one) == 6 and one[5] is not False and not _is_edit(one[5]):
            return False
        return file == 0 or 0 <= hunk <= len(self.units[file - 1][1])

    def steps(self) -> list[dict[str, Any]]:
        """Return the steps to the current state."""
        undone = [*reversed(self.future)]
        return [
            {"of": self.units},
            *([self.owner] if self.owner else []),
            *([{"lost": self.lost}] if self.lost else []),
            *({"decided": made} for made in (*self.past, *undone)),
            *({"again": "past"} for _ in undone),
        ]

    def renumber(self, units: _Units) -> None:
        """Keep the decisions on parts that other changes also contain."""
        places = _Places(self.units, units)
        self.lost += sum(_is_decided(one) and places.moved(one) is None for one in self._last().values())
        self.past, self.future = (
            [kept for made in steps if (kept := [*filter(None, map(places.moved, made))])]
            for steps in (self.past, self.future)
        )
        self.units = units

    def kept(self) -> KeptReview:
        kept = KeptReview(
            lost=self.lost, steps=len(self.past), by_editor="in" not in (self.owner or {"in": ""})
        )
        edits = self._edits()
        for place, (file, hunk, state, comment, *taken) in self._last().items():
            at, own = file - 1, hunk - 1
            edit = edits.get(place) if hunk else None
            if edit is False:
                kept.proposed.setdefault(at, set()).add(own)
            elif edit is not None and state != "r":
                kept.edited.setdefault(at, {})[own] = edit
            if state == "a" and taken and taken[0]:
                kept.added.setdefault(at, []).append(taken[0])
            elif state == "a" and hunk:
                kept.accepted.setdefault(at, set()).add(own)
            # the taken hunk replaces the own one
            if hunk and (state == "r" or (state == "a" and taken and taken[0])):
                kept.rejected.setdefault(at, set()).add(own)
            if hunk and state == "o":
                kept.open.setdefault(at, set()).add(own)
            where = (None, None) if not file else (at, own if hunk else None)
            if hunk or not file:
                kept.about.add(where)
            if comment is not None:
                kept.comments.append((*where, comment["text"]))
        return kept

    def _last(self) -> dict[tuple[int, int, str], _Decision]:
        """Return the last decision on each part."""
        return {_place(one): one for made in self.past for one in made}

    def _edits(self) -> dict[tuple[int, int, str], Any]:
        """Return the person's edits by hunk; False: restored to the proposal."""
        edits = {}
        for one in (one for made in self.past for one in made):
            if len(one) == 6:
                edits[_place(one)] = one[5]
            elif len(one) == 5 and one[4]:
                edits[_place(one)] = False
        return edits


def _are_units(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and _are_texts(one[1])
        for one in value
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_hunk(value: Any) -> bool:
    return _is_edit(value) and type(value.get("start")) is int and value["start"] >= 0


def _is_edit(value: Any) -> bool:
    if not isinstance(value, dict) or not all(_are_texts(value.get(name)) for name in ("old", "new")):
        return False
    return not any("\n" in line for line in (*value["old"], *value["new"]))


def _is_decided(one: _Decision) -> bool:
    """Tell whether a decision is made, or has text of the person."""
    return one[2] in ("a", "r") or any(one[3:])


def _place(one: _Decision) -> tuple[int, int, str]:
    """Return the part that a decision is about; a hunk of another run is identified by its lines."""
    file, hunk, *_ = one
    return file, hunk, "" if hunk or not file else json.dumps(one[4:], sort_keys=True)


class _Places:
    """Positions of hunks among other changes.

    A hunk is recognized at the same line, or elsewhere if its lines are unique.
    """

    def __init__(self, known: _Units, units: _Units) -> None:
        self._known = known
        self._exact: dict[tuple[str, str], tuple[int, int]] = {}
        self._files: dict[str, int] = {}
        for file, (path, names) in enumerate(units, start=1):
            self._files.setdefault(path, file)
            self._exact |= {(path, name): (file, hunk) for hunk, name in enumerate(names, start=1)}
        before, after = _by_content(known), _by_content(units)
        self._anywhere = {
            content: self._exact[after[content][0]]
            for content, names in before.items()
            if len(names) == len(after.get(content, ())) == 1
        }

    def moved(self, one: _Decision) -> _Decision | None:
        """Return a decision with its numbers here; None if its part is missing here."""
        file, hunk, *rest = one
        if file == 0:
            return one
        path, names = self._known[file - 1]
        if hunk == 0:  # only another run has a hunk there
            return [self._files[path], 0, *rest] if path in self._files else None
        name = path, names[hunk - 1]
        place = self._exact.get(name) or self._anywhere.get(_content(*name))
        return None if place is None else [*place, *rest]


def _by_content(units: _Units) -> dict[tuple[str, str], list[tuple[str, str]]]:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for path, names in units:
        for name in names:
            found.setdefault(_content(path, name), []).append((path, name))
    return found


def _content(path: str, name: str) -> tuple[str, str]:
    return path, name.partition(":")[2]


DRAFTED: Final = frozenset({"review", "plan", "document"})
"""Kinds of questions with drafts."""
WAITS: Final = "the run waits; resume it at a terminal or in Neovim to answer"


class BegunAnswer:
    """Partial answer of a person to a question.

    :param request: the question with the payload as the person left it.
    :param begun: the person decided or wrote something.
    :param obstacle: why no policy can accept the rest; empty if it can.
    """

    def __init__(self, request: ConfirmationRequest, *, begun: bool, obstacle: str = "") -> None:
        self.request = request
        self.begun = begun
        self._obstacle = obstacle

    def accepted_rest(self) -> Any:
        """Build an accepting answer that keeps the decisions so far; None without any.

        :raises PersonNeeded: it would lose text of the person.
        """
        if self._obstacle:
            raise PersonNeeded(f"{self._obstacle}; {WAITS}")
        if not self.begun:
            return None
        payload = self.request.payload
        if self.request.kind == "review":
            said = {"comments": payload["comments"]} if payload.get("collects") else {}
            return {"files": [_verdict(file) for file in payload["files"]], **said}
        return {"files": payload["files"]} if self.request.kind == "plan" else {"text": payload["text"]}


async def read_begun(request: ConfirmationRequest) -> BegunAnswer:
    """Read a person's partial answer."""
    kind = request.kind
    if request.unread:
        return BegunAnswer(request, begun=True, obstacle=f"your earlier decisions {request.unread}")
    if kind not in DRAFTED or not request.draft:
        return BegunAnswer(request, begun=False)
    path = Path(request.draft)
    try:
        if kind == "review":
            return _begun_review(request, await asyncio.to_thread(kept_review, path))
        return _begun_text(request, await asyncio.to_thread(kept_answer, path))
    except OSError as error:
        return BegunAnswer(
            request, begun=True, obstacle=f"your earlier decisions cannot be read: {error.strerror or error}"
        )


def _begun_review(request: ConfirmationRequest, kept: KeptReview) -> BegunAnswer:
    payload = with_decisions(request.payload, kept) if kept else request.payload
    obstacle = ""
    if kept.lost:
        obstacle = f"{kept.lost} of your decisions cannot be kept: the change is another now"
    elif payload.get("revisable") and payload.get("comments"):
        obstacle = "your comments on the change were not sent to the model"
    return BegunAnswer(replace(request, payload=payload), begun=bool(kept or obstacle), obstacle=obstacle)


def _begun_text(request: ConfirmationRequest, said: Mapping[str, Any]) -> BegunAnswer:
    payload = with_said(request.payload, said)
    obstacle = str(said.get("unusable", ""))
    if not obstacle and payload.get("revisable") and payload.get("comments"):
        obstacle = f"your comments on the {request.kind} were not sent to the model"
    elif not obstacle and payload.get("problems") and not payload.get("again"):
        obstacle = f"the {request.kind} as you left it cannot be used: {'; '.join(payload['problems'])}"
    typed = said.get("text", request.payload.get("text"))
    begun = bool(obstacle or said.get("files") or typed != request.payload.get("text"))
    return BegunAnswer(replace(request, payload=payload), begun=begun, obstacle=obstacle)


def kept_answer(path: Path) -> dict[str, Any]:
    """Read a plan's or document's draft into payload keys: `comments`, `files`, `text`.

    `out` lists files removed from a plan; `unusable` says why a part is left out. Empty if the person wrote
    nothing. Blocking.

    :raises OSError: it cannot be read.
    """
    said, damaged = dict[str, Any](), False
    for step in steps_of(path):
        if step is None:
            damaged = True
        elif isinstance(step.get("said"), dict):
            said, damaged = step["said"], False
    kept: dict[str, Any] = {"unusable": "part of your comments cannot be read"} if damaged else {}
    if not said:
        return kept
    given = _listed(said.get("comments"))
    kept["comments"] = [*filter(_is_comment, given)]
    files = _listed(said.get("files"))
    readable = len(kept["comments"]) == len(given) and all(map(_is_planned, files))
    if files and all(map(_is_planned, files)):
        out = _listed(said.get("out"))
        left = [file for at, file in enumerate(files, start=1) if at not in out]
        if left:
            kept["files"] = left
            kept["out"] = [file for at, file in enumerate(files, start=1) if at in out]
        else:  # a plan without files is a decision, left to the person
            kept["unusable"] = "you took all files out of the plan"
    if isinstance(text := said.get("text"), str):
        kept["text"] = text
    if not readable or not isinstance(text, str | None):
        kept["unusable"] = "part of your comments cannot be read"
    return kept


def with_said(payload: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Add a kept answer to the payload of a plan or a document.

    `proposed` is the text before the person's.
    """
    added = {key: value for key, value in said.items() if key != "unusable"}
    if "text" in added:
        # in an edited text the model's changes are unknown
        added |= {"proposed": payload["text"], "changed": []}
    return {**payload, **added}


def with_decisions(payload: Mapping[str, Any], kept: KeptReview) -> dict[str, Any]:
    """Add decisions to the payload of a review."""
    files = [_decided_file(at, file, kept) for at, file in enumerate(payload["files"])]
    anew = {(None if at is None else files[at]["path"], hunk) for at, hunk in kept.about}
    comments = [one for one in payload.get("comments", ()) if (one.get("path"), one.get("hunk")) not in anew]
    for at, hunk, text in kept.comments:
        where = {} if at is None else {"path": files[at]["path"]}
        comments.append({**where, **({} if hunk is None else {"hunk": hunk}), "text": text})
    heard = payload.get("revisable") or payload.get("collects")
    return {**payload, "files": files, "comments": comments if heard else []}


def _decided_file(at: int, file: Mapping[str, Any], kept: KeptReview) -> dict[str, Any]:
    before = file.get("decided", {})
    accepted, rejected, opened = (one.get(at, set()) for one in (kept.accepted, kept.rejected, kept.open))
    decided: dict[str, Any] = {
        "accepted": sorted({*before.get("accepted", ()), *accepted} - rejected - opened),
        "rejected": sorted({*before.get("rejected", ()), *rejected} - accepted - opened),
    }
    if added := [*before.get("added", ()), *kept.added.get(at, ())]:
        decided["added"] = added
    made = {one["hunk"]: one for one in before.get("edited", ())}
    made = {hunk: one for hunk, one in made.items() if hunk not in kept.proposed.get(at, ())}
    made |= {hunk: {"hunk": hunk, **edit} for hunk, edit in kept.edited.get(at, {}).items()}
    if made:
        decided["edited"] = [*made.values()]
    return {**file, "decided": decided}


def _verdict(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return the decisions on a file with all undecided parts accepted, except conflicts.

    An accepted hunk of another run excludes own hunks that change the same lines.
    """
    decided = file.get("decided", {})
    added, edited = decided.get("added", ()), decided.get("edited", ())
    taken = HunkIndex(_hunk(one) for one in added)
    every = range(hunk_count_of(file))
    clashing = {at for at in every if added and taken.clashes(_hunk(file["hunks"][at]))}
    rejected = {*decided.get("rejected", ()), *(clashing - {*decided.get("accepted", ())})}
    left = (conflicts_of(file) - {*decided.get("accepted", ())}) | rejected
    verdict: dict[str, Any] = {
        "path": file["path"],
        "accepted": [at for at in every if at not in left],
        "rejected": sorted(rejected),
    }
    if added:
        verdict["added"] = [*added]
    if kept := [one for one in edited if one["hunk"] not in rejected]:
        verdict["edited"] = kept
    return verdict


def _hunk(shape: Mapping[str, Any]) -> Hunk:
    return Hunk(shape["start"], tuple(shape["old"]), tuple(shape["new"]))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_comment(one: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("text"), str):
        return False
    return type(one.get("line", 1)) is int and isinstance(one.get("path", ""), str)


def _is_planned(file: Any) -> bool:
    texts = ("path", "action", *({"why", "move_to"} & file.keys())) if isinstance(file, dict) else ("path",)
    return isinstance(file, dict) and all(isinstance(file.get(name), str) for name in texts)
