"""Reviews at the terminal: whole or hunk by hunk, with comments to the model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.cli.hunk_picking import BACK, HunkPicking, alternatives_to
from tideate_core.cli.keyboard import Options
from tideate_core.cli.render.diffs import ReviewedFile
from tideate_core.errors import TideateError
from tideate_core.util.escaping import label, visible
from tideate_core.workflows import Decision
from tideate_core.workspace import HunkIndex

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from rich.console import RenderableType

    from tideate_core.cli.answer_drafts import ReviewDraft
    from tideate_core.cli.hunk_picking import Alternative, Asker
    from tideate_core.workflows import CheckAccepted

ENDED = Decision(False, reason="the input ended before an answer")
LEAVE = "q"
"""Leaves a question unanswered: the run waits and can be resumed."""
LEAVING = {LEAVE: "leave it: the run waits"}
FORGET = "reopen earlier decisions"
KEEP = Options(
    {
        "Y": "keep",
        "n": "revert",
        "a": "keep this and the rest of the file",
        BACK: "back, discard these choices",
    }
)
UNSENT = "Your comments were not sent to the model. Accept all without them?"
WITHOUT = Options({"y": "accept, and leave them out", "N": "go back", "r": "accept, and send them"})
SENT = "comments were sent to the model"


def review_matter(payload: Mapping[str, Any]) -> list[RenderableType]:
    """Render a review: open hunks, hunks accepted with edits, a summary, and earlier comments."""
    files = [ReviewedFile.of(file) for file in payload["files"]]
    shown: list[RenderableType] = [file.patch(file.open) for file in files if file.open and not file.folded]
    shown += [file.summary() for file in files if file.open and file.folded]
    for file in files:
        if edited := file.edited_accepted:
            words = "accepted before, as you edited it:"
            shown += [Text(words, style="bold"), file.patch(edited)]
    if any(file.accepted or file.rejected for file in files):
        shown.append(Text(_summary(files, written=bool(payload.get("written"))), style="dim"))
    shown += [Text(f"you said: {visible(one['text'])}", style="dim") for one in payload.get("comments", ())]
    return shown


def _summary(files: Sequence[ReviewedFile], *, written: bool) -> str:
    """Return a summary like the editor's: `3 hunks: 2 accepted, 1 open`."""
    accepted, rejected = ("kept", "to revert") if written else ("accepted", "rejected")
    counts = {
        accepted: sum(len(file.accepted) for file in files),
        rejected: sum(len(file.rejected) for file in files),
        "open": sum(len(file.open) for file in files),
    }
    total = sum(counts.values())
    parts = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{total} hunk{'' if total == 1 else 's'}: {parts}"


class _Question:
    """Base of both kinds of reviews: display, and the draft with earlier decisions."""

    def __init__(
        self,
        asker: Asker,
        payload: Mapping[str, Any],
        message: str,
        draft: ReviewDraft,
        check: CheckAccepted | None = None,
    ) -> None:
        self._asker = asker
        self._check = check
        self._message = message
        self._unread = payload
        self._draft = draft
        self._read()

    def _read(self) -> None:
        self._payload = self._draft.added_to(self._unread)
        self._files = [ReviewedFile.of(file) for file in self._payload["files"]]

    def matter(self) -> list[RenderableType]:
        """Render the review and its earlier decisions."""
        return [*review_matter(self._payload), *self._draft.words]

    async def _show(self) -> None:
        await self._asker.show(self.matter())

    async def _look(self, answer: str) -> None:
        """Show the review again; for `o`, discard the earlier decisions first."""
        if answer == "d":
            await self._asker.show_again()
            return
        await self._draft.forget()
        self._read()
        await self._show()


class ReviewQuestion(_Question):
    """Review of changes that a run proposes."""

    _typed: Sequence[dict[int, str]] = ()
    """Unsaved texts of failed editors by file; see `HunkPicking`."""

    def _read(self) -> None:
        super()._read()
        payload = self._payload
        self._revisable = bool(payload.get("revisable"))
        self._collects = bool(payload.get("collects"))
        self._typed: list[dict[int, str]] = self._typed or [{} for _ in self._files]
        heard = self._revisable or self._collects
        self._unanswered: list[dict[str, Any]] = [*payload.get("comments", ())] if heard else []
        self._others = [alternatives_to(file, payload.get("alternatives", ())) for file in self._files]

    async def _look(self, answer: str) -> None:
        if answer == "o":
            self._typed = []
        await super()._look(answer)

    async def ask(self) -> Decision:
        """Ask until the review is decided or left."""
        while True:
            answer = await self._asker.choose(self._message, self._options())
            if answer is None or answer == LEAVE:
                return ENDED
            if answer == "n":
                return Decision(False, reason="declined")
            if answer in ("y", "a", "p"):
                decided = await (self._through(HunkPicking.pick) if answer == "p" else self._all())
                if decided is not None:
                    return decided
                self._read()
                await self._show()
            elif answer == "r":
                return self._answer(self._decided(), self._unanswered)
            elif answer == "t":
                await self._run_check()
            elif answer != "c":
                await self._look(answer)
            elif text := await self._asker.type("What is to change?"):
                return self._answer(self._decided(), [*self._unanswered, {"text": text}])

    def _options(self) -> Options:
        conflicts = sum(len(file.conflicts & {*file.open}) for file in self._files)
        but = f" but {conflicts} conflict{'' if conflicts == 1 else 's'}" if conflicts else ""
        shown = {"y": f"all{but}", "N": "none", "p": "pick hunk by hunk"}
        if self._revisable:
            shown["c"] = "describe the change: the model revises it"
        if self._unanswered:
            shown["y"] = "all; asks about your comments"
            shown["r"] = "send your comments"
        if self._draft.kept:
            sent = ", and send your comments" if self._unanswered else ""
            shown |= {"y": f"all that is open{but}{sent}", "o": FORGET}
        if self._check is not None:
            shown["t"] = "run a check on the accepted hunks"
        return Options({**shown, "d": "show again"}, {"a": "", **LEAVING})

    async def _all(self) -> Decision | None:
        """Accept all open hunks beside the earlier decisions; None to ask again."""
        send = bool(self._draft.kept)
        if self._unanswered and not send:
            answer = await self._asker.choose(UNSENT, WITHOUT)
            if answer is None or answer == "n":
                return ENDED if answer is None else None
            send = answer == "r"
        if not (send or any(self._clashes(at) for at in range(len(self._files)))):
            return Decision(True)
        return await self._through(HunkPicking.accept_open, send=send)

    def _clashes(self, at: int) -> bool:
        """Return whether an open hunk of a file conflicts with a hunk taken from another run."""
        file, taken = self._files[at], self._taken(at)
        index = HunkIndex(one.hunk for one in taken)
        return bool(taken) and any(index.clashes(file.hunks[hunk]) for hunk in file.open)

    async def _run_check(self) -> None:
        """Run a check on the accepted hunks, and show its result."""
        assert self._check is not None  # noqa: S101 it is only offered then
        value = {"files": self._decided()}
        try:
            done = await self._check(value, "")
            if done.checks:
                numbers = {str(at): name.replace("_", " ") for at, name in enumerate(done.checks, start=1)}
                answer = await self._asker.choose("Run which check?", Options(numbers, LEAVING))
                if answer is None or answer == LEAVE:
                    return
                done = await self._check(value, done.checks[int(answer) - 1])
        except TideateError as error:
            await self._asker.show([Text(visible(str(error)), style="yellow")])
            return
        style = "green" if done.status == "passed" else "red"
        await self._asker.show([Text(visible(done.report), style=style)])

    def _decided(self) -> list[dict[str, Any]]:
        return [
            _verdict(file, file.accepted, file.rejected, self._taken(at), file.edited)
            for at, file in enumerate(self._files)
        ]

    def _taken(self, at: int) -> list[Alternative]:
        """Return the hunks of a file taken from other runs earlier."""
        known = {one.hunk: one for one in reversed(self._others[at])}  # of equal hunks, the first
        return [known[hunk] for hunk in dict.fromkeys(self._files[at].added) if hunk in known]

    def _answer(self, files: list[dict[str, Any]], comments: list[dict[str, Any]]) -> Decision:
        if self._collects:
            accepts = any(file["accepted"] for file in files)
            return Decision(accepts, {"files": files, "comments": comments})
        if comments:
            return Decision(False, {"files": files, "comments": comments}, reason=SENT)
        if not any(file["accepted"] or file.get("added") for file in files):
            return Decision(False, reason="no change was accepted")
        return Decision(True, {"files": files})

    async def _through(
        self,
        ask: Callable[[HunkPicking, Callable[..., Awaitable[None]]], Awaitable[str | None]],
        *,
        send: bool = True,
    ) -> Decision | None:
        """Ask about each file in turn and return the decision; None if the person goes back.

        :param send: send earlier comments to the model again.
        """
        verdicts, comments, answered = [], list[dict[str, Any]](), set[tuple[str, int]]()
        written = list[list[Any]]()
        for at, file in enumerate(self._files):
            picking = self._picking(at, file)
            end = await ask(picking, partial(self._draft.write, at))
            written += [[at + 1, *one] for one in picking.written]
            if end is None:
                return ENDED
            if end == BACK:
                await self._draft.revert(written)
                return None
            answered |= {(file.change.path, hunk) for hunk in picking.answered}
            comments += picking.comments
            edited = [*picking.edited.values()]
            verdicts.append(_verdict(file, picking.accepted, picking.rejected, picking.added, edited))
        earlier = self._unanswered if send else []
        left = [one for one in earlier if (one.get("path"), one.get("hunk")) not in answered]
        return self._answer(verdicts, [*left, *comments])

    def _picking(self, at: int, file: ReviewedFile) -> HunkPicking:
        said = {
            one["hunk"]: one["text"]
            for one in self._unanswered
            if "hunk" in one and one.get("path") == file.change.path
        }
        return HunkPicking(
            self._asker,
            file,
            self._others[at],
            self._taken(at),
            said=said,
            typed=self._typed[at],
            revisable=self._revisable or self._collects,
        )


class WrittenReviewQuestion(_Question):
    """Review of changes already in the files: each is kept or reverted."""

    async def ask(self) -> Decision:
        """Ask until the review is decided or left."""
        while True:
            what = "all that is open" if self._draft.kept else "all"
            shown = {"y": f"keep {what}", "N": "end and change nothing", "p": "pick hunk by hunk"}
            shown |= {"r": f"revert {what}", **({"o": FORGET} if self._draft.kept else {}), "d": "show again"}
            answer = await self._asker.choose(self._message, Options(shown, {"a": "", **LEAVING}))
            if answer is None or answer == LEAVE:
                return ENDED
            if answer in ("y", "a"):
                return self._rest(kept=True) if self._draft.kept else Decision(True)
            if answer == "n":
                return Decision(False, reason="declined")
            if answer == "r":
                return self._rest(kept=False)
            if answer == "p":
                if (chosen := await self._pick()) is not None:
                    return chosen
                await self._draft.revert()
                await self._show()
            else:
                await self._look(answer)

    def _rest(self, *, kept: bool) -> Decision:
        """Keep or revert all open hunks beside the earlier decisions."""
        files = [
            _verdict(
                file,
                file.accepted.union(file.open if kept else ()),
                file.rejected.union(() if kept else file.open),
            )
            for file in self._files
        ]
        return Decision(True, {"files": files})

    async def _pick(self) -> Decision | None:
        """Ask about each file in turn; None if the person goes back."""
        verdicts = []
        for at, file in enumerate(self._files):
            picked = await self._pick_from(at, file)
            if picked is None:
                return None
            if isinstance(picked, Decision):
                return picked
            verdicts.append(picked)
        return Decision(True, {"files": verdicts})

    async def _pick_from(self, at: int, file: ReviewedFile) -> dict[str, Any] | Decision | None:
        kept, back = {*file.accepted}, {*file.rejected}
        count = len(file.everything)
        for index in file.open:
            await self._asker.show([file.hunk_patch(index) if file.pickable else file.patch()])
            part = f"Keep hunk {index + 1}/{count} of" if file.pickable else f"Keep: {file.change.action}"
            # Enter keeps: reverting needs an explicit n
            answer = await self._asker.choose(f"{part} {label(file.change.path)}?", KEEP)
            if answer is None:
                return ENDED
            if answer == BACK:
                return None
            decided = [one for one in file.open if one >= index] if answer == "a" else [index]
            state = "r" if answer == "n" else "a"
            (back if state == "r" else kept).update(decided)
            await self._draft.write(at, [[one + 1, state, None] for one in decided])
            if answer == "a":
                break
        return _verdict(file, kept, back)


def _verdict(
    file: ReviewedFile,
    accepted: Collection[int],
    rejected: Collection[int],
    taken: Sequence[Alternative] = (),
    edited: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    verdict: dict[str, Any] = {
        "path": file.change.path,
        "accepted": sorted(accepted),
        "rejected": sorted(rejected),
    }
    if taken:
        verdict["added"] = [one.hunk.as_json() for one in taken]
    if kept := [one for one in edited if one["hunk"] not in rejected]:
        verdict["edited"] = kept
    return verdict
