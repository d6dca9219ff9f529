"""Answers that a person began in a draft, and how a policy completes them.

A policy accepts what is open and keeps every decision and every edit. If that is impossible, the run waits.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.review_drafts import KeptReview, hunk_count_of, kept_review, steps_of
from tideate_core.errors import PersonNeeded
from tideate_core.workspace import Hunk, HunkIndex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.confirmation import ConfirmationRequest

__all__ = ["DRAFTED", "WAITS", "BegunAnswer", "kept_answer", "read_begun", "with_decisions", "with_said"]

DRAFTED: Final = frozenset({"review", "plan", "document"})
"""Kinds of questions that a front end keeps a draft of."""
WAITS: Final = "the run waits; resume it at a terminal or in Neovim to answer"


class BegunAnswer:
    """The answer to a question as far as a person gave it.

    :param request: the question with its payload as the person left it.
    :param begun: they decided or said something.
    :param obstacle: why no policy can accept the rest; empty for none.
    """

    def __init__(self, request: ConfirmationRequest, *, begun: bool, obstacle: str = "") -> None:
        self.request = request
        self.begun = begun
        self._obstacle = obstacle

    def accepted_rest(self) -> Any:
        """Build an accepting answer that keeps the decisions begun so far; None if there are none.

        :raises PersonNeeded: it would lose something that the person said or wrote.
        """
        if self._obstacle:
            raise PersonNeeded(f"{self._obstacle}; {WAITS}")
        if not self.begun:
            return None
        payload = self.request.payload
        if self.request.kind == "review":
            return {"files": [_verdict(file) for file in payload["files"]]}
        return {"files": payload["files"]} if self.request.kind == "plan" else {"text": payload["text"]}


async def read_begun(request: ConfirmationRequest) -> BegunAnswer:
    """Read the answer that a person began."""
    kind = request.kind
    if request.unread:
        return BegunAnswer(request, begun=True, obstacle=f"what you decided before {request.unread}")
    if kind not in DRAFTED or not request.draft:
        return BegunAnswer(request, begun=False)
    path = Path(request.draft)
    try:
        if kind == "review":
            return _begun_review(request, await asyncio.to_thread(kept_review, path))
        return _begun_text(request, await asyncio.to_thread(kept_answer, path))
    except OSError as error:
        return BegunAnswer(
            request, begun=True, obstacle=f"what you decided before cannot be read: {error.strerror or error}"
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

    `out` are the files that were taken out of a plan. `unusable` says why something of it is left out. Empty
    if nothing was said. Blocking.

    :raises OSError: it cannot be read.
    """
    said, damaged = dict[str, Any](), False
    for step in steps_of(path):
        if step is None:
            damaged = True
        elif isinstance(step.get("said"), dict):
            said, damaged = step["said"], False
    kept: dict[str, Any] = {"unusable": "a part of what you said cannot be read"} if damaged else {}
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
        else:  # a plan without any is an answer, which is the person's to give
            kept["unusable"] = "you took all files out of the plan"
    if isinstance(text := said.get("text"), str):
        kept["text"] = text
    if not readable or not isinstance(text, str | None):
        kept["unusable"] = "a part of what you said cannot be read"
    return kept


def with_said(payload: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Add a kept answer to the payload of a plan or a document.

    `proposed` is the text before the person's.
    """
    added = {key: value for key, value in said.items() if key != "unusable"}
    if "text" in added:
        # of an edited text it is not known what the model changed in it
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
    return {**payload, "files": files, "comments": comments if payload.get("revisable") else []}


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
    """Return the decisions on a file with everything accepted that is open.

    A hunk of another run that was taken leaves out the own ones that change the same lines.
    """
    decided = file.get("decided", {})
    added, edited = decided.get("added", ()), decided.get("edited", ())
    taken = HunkIndex(_hunk(one) for one in added)
    every = range(hunk_count_of(file))
    clashing = {at for at in every if added and taken.clashes(_hunk(file["hunks"][at]))}
    rejected = {*decided.get("rejected", ()), *(clashing - {*decided.get("accepted", ())})}
    verdict: dict[str, Any] = {
        "path": file["path"],
        "accepted": [at for at in every if at not in rejected],
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
