"""The review at the terminal: all at once or hunk by hunk, and what the person says of it to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.cli.hunk_picking import BACK, NO, YES, HunkPicking, alternatives_to
from tideate_core.cli.render.diffs import ReviewedFile
from tideate_core.util.escaping import label, visible
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rich.console import RenderableType

    from tideate_core.cli.hunk_picking import Asker

__all__ = ["ReviewQuestion", "WrittenReviewQuestion", "review_matter"]

ENDED = Decision(False, reason="the input ended before an answer")
WRITTEN_HELP = (
    "y keep all · n or Enter end and change nothing · p pick hunk by hunk · r revert all · d show again"
)
KEEP_HELP = (
    "y or Enter keep · n revert · a keep this and the rest of the file · q back, without what was picked"
)
SENT = "comments were sent to the model"


def review_matter(payload: Mapping[str, Any]) -> list[RenderableType]:
    """Return what a review is about: of a revision only what is to be decided."""
    files = [ReviewedFile.of(file) for file in payload["files"]]
    shown: list[RenderableType] = [file.patch(file.open) for file in files if file.open]
    if any(file.accepted or file.rejected for file in files):
        shown.append(Text(_summary(files), style="dim"))
    shown += [Text(f"you said: {visible(one['text'])}", style="dim") for one in payload.get("comments", ())]
    return shown


def _summary(files: Sequence[ReviewedFile]) -> str:
    """Return a line like the editor's: `3 hunks: 2 accepted, 1 open`."""
    counts = {
        "accepted": sum(len(file.accepted) for file in files),
        "rejected": sum(len(file.rejected) for file in files),
        "open": sum(len(file.open) for file in files),
    }
    total = sum(counts.values())
    parts = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{total} hunk{'' if total == 1 else 's'}: {parts}"


class ReviewQuestion:
    """One review."""

    def __init__(self, asker: Asker, payload: Mapping[str, Any], message: str) -> None:
        self._asker = asker
        self._message = message
        self._payload = payload
        self._files = [ReviewedFile.of(file) for file in payload["files"]]
        self._revisable = bool(payload.get("revisable"))
        self._unanswered: list[dict[str, Any]] = [*payload.get("comments", ())] if self._revisable else []
        self._alternatives = payload.get("alternatives", ())

    async def ask(self) -> Decision:
        """Return the answer."""
        keys, help_text, known = self._choices()
        while True:
            answer = await self._asker.choose(self._message, keys, help_text, YES | NO | known)
            if answer is None:
                return ENDED
            if answer in YES | {"a"}:
                return Decision(True)
            if answer in NO:
                return Decision(False, reason="declined")
            if answer == "p":
                if (picked := await self._pick()) is not None:
                    return picked
                await self._asker.show(review_matter(self._payload))
            elif answer == "r":
                return self._answer(self._decided(), self._unanswered)
            elif answer == "d":
                await self._asker.show_again()
            elif text := await self._asker.type("What is to change?"):
                return self._answer(self._decided(), [*self._unanswered, {"text": text}])

    def _choices(self) -> tuple[str, str, frozenset[str]]:
        keys, words, known = (
            ["y", "N", "p"],
            ["y all", "n or Enter none", "p pick hunk by hunk"],
            {"a", "p", "d"},
        )
        if self._revisable:
            keys.append("c")
            words.append("c say what is to change: the model revises it")
            known.add("c")
        if self._unanswered:
            keys.append("r")
            words.append("r send your comments again")
            known.add("r")
        return "/".join([*keys, "d"]), " · ".join([*words, "d show again"]), frozenset(known)

    def _decided(self) -> list[dict[str, Any]]:
        return [_verdict(file, file.accepted, file.rejected) for file in self._files]

    def _answer(self, files: list[dict[str, Any]], comments: list[dict[str, Any]]) -> Decision:
        if comments:
            return Decision(False, {"files": files, "comments": comments}, reason=SENT)
        if not any(file["accepted"] or file.get("added") for file in files):
            return Decision(False, reason="no change was accepted")
        return Decision(True, {"files": files})

    async def _pick(self) -> Decision | None:
        """Return what was picked; None where the person went back."""
        verdicts, comments, anew = [], list[dict[str, Any]](), set[tuple[str, int]]()
        for file in self._files:
            picking = HunkPicking(
                self._asker, file, alternatives_to(file, self._alternatives), revisable=self._revisable
            )
            if (end := await picking.pick()) is None:
                return ENDED
            if end == BACK:
                return None
            anew |= picking.anew
            comments += picking.comments
            verdict = _verdict(file, picking.accepted, picking.rejected)
            added = [one.hunk.as_json() for one in picking.added]
            verdicts.append({**verdict, "added": added} if added else verdict)
        return self._answer(verdicts, [*self._left(anew), *comments])

    def _left(self, anew: Collection[tuple[str, int]]) -> list[dict[str, Any]]:
        """Return the unanswered comments but those on hunks that were decided anew."""
        return [one for one in self._unanswered if (one.get("path"), one.get("hunk")) not in anew]


class WrittenReviewQuestion:
    """A review of what something else wrote: it is kept, or reverted."""

    def __init__(self, asker: Asker, payload: Mapping[str, Any], message: str) -> None:
        self._asker = asker
        self._message = message
        self._payload = payload
        self._files = [ReviewedFile.of(file) for file in payload["files"]]

    async def ask(self) -> Decision:
        """Return the answer."""
        while True:
            known = YES | NO | {"a", "p", "r", "d"}
            answer = await self._asker.choose(self._message, "y/N/p/r/d", WRITTEN_HELP, known)
            if answer is None:
                return ENDED
            if answer in YES | {"a"}:
                return Decision(True)
            if answer in NO:
                return Decision(False, reason="declined")
            if answer == "r":
                files = [_verdict(file, (), file.everything) for file in self._files]
                return Decision(True, {"files": files})
            if answer == "p":
                if (chosen := await self._pick()) is not None:
                    return chosen
                await self._asker.show(review_matter(self._payload))
            else:
                await self._asker.show_again()

    async def _pick(self) -> Decision | None:
        """Return what was picked; None where the person went back."""
        verdicts = []
        for file in self._files:
            picked = await self._pick_from(file)
            if picked is None:
                return None
            if isinstance(picked, Decision):
                return picked
            verdicts.append(picked)
        return Decision(True, {"files": verdicts})

    async def _pick_from(self, file: ReviewedFile) -> dict[str, Any] | Decision | None:
        kept, back = list[int](), list[int]()
        count = len(file.everything)
        for index in file.everything:
            await self._asker.show([file.hunk_patch(index) if file.pickable else file.patch()])
            part = f"Keep hunk {index + 1}/{count} of" if file.pickable else f"Keep: {file.change.action}"
            known = YES | NO | {"a"}
            answer = await self._asker.choose(
                f"{part} {label(file.change.path)}?", "Y/n/a/q", KEEP_HELP, known
            )
            if answer is None:
                return ENDED
            if answer == BACK:
                return None
            if answer == "a":
                kept += [at for at in file.everything if at >= index]
                break
            # Enter keeps: what is reverted is named
            (back if answer in ("n", "no") else kept).append(index)
        return _verdict(file, kept, back)


def _verdict(file: ReviewedFile, accepted: Collection[int], rejected: Collection[int]) -> dict[str, Any]:
    return {"path": file.change.path, "accepted": sorted(accepted), "rejected": sorted(rejected)}
