"""Hunk-by-hunk decisions on one file at the terminal, including hunks of compared runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from rich.text import Text

from tideate_core.cli.keyboard import EditorFailed, Options
from tideate_core.cli.render.diffs import ReviewedFile
from tideate_core.util.escaping import label, visible
from tideate_core.workspace import HunkIndex

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from rich.console import RenderableType

    from tideate_core.workspace import Hunk

SUFFIX: Final = re.compile(r"\.[A-Za-z0-9_+-]{1,16}")
BACK: Final = "q"
INSTEAD: Final = Options({"y": "take it, and leave the other out", "N": "keep the other", BACK: "back"})
MORE: Final = Options({"y": "take it", "N": "leave it out", BACK: "back, discard these choices"})


class Asker(Protocol):
    """Dialogs at the terminal; see `Questions`."""

    async def choose(self, question: str, options: Options) -> str | None: ...

    async def type(self, question: str) -> str | None: ...

    async def edit(self, text: str, name: str) -> str: ...

    async def show(self, parts: Sequence[RenderableType], *, paged: bool = False) -> None: ...

    async def show_again(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Alternative:
    """Hunk of another run of a comparison."""

    adapter: str
    hunk: Hunk
    file: ReviewedFile
    """The file in the other run."""
    at: int
    """Index of the hunk in that file."""

    @property
    def patch(self) -> Text:
        return self.file.hunk_patch(self.at)

    def matter(self, number: int) -> list[RenderableType]:
        """Render the hunk as an offer."""
        return [Text(f"{number} · the adapter {visible(self.adapter)!r} has here:", style="bold"), self.patch]


def alternatives_to(file: ReviewedFile, runs: Iterable[Mapping[str, Any]]) -> list[Alternative]:
    """Return the different hunks of other runs for the same text of a file, by position."""
    found, own = [], {*file.hunks}
    for run in runs:
        for shape in run["files"]:
            if shape["path"] != file.change.path:
                continue
            other = ReviewedFile.of(shape)
            if other.change.before == file.change.before and file.pickable and other.pickable:
                found += [
                    Alternative(run["adapter"], hunk, other, at)
                    for at, hunk in enumerate(other.hunks)
                    if hunk not in own
                ]
    return sorted(found, key=lambda one: (one.hunk.start, one.hunk.end))


class HunkPicking:
    """Decisions on the hunks of one file.

    :param others: hunks of other runs for this file.
    :param taken: hunks of other runs that were taken earlier.
    :param said: unsent comments, by hunk.
    :param typed: texts of failed editors, by hunk: the next edit begins with them.
    :param revisable: a rejected hunk can have a comment.
    """

    def __init__(
        self,
        asker: Asker,
        file: ReviewedFile,
        others: Sequence[Alternative] = (),
        taken: Sequence[Alternative] = (),
        *,
        said: Mapping[int, str],
        typed: dict[int, str],
        revisable: bool,
    ) -> None:
        self._asker = asker
        self._file = file
        self._others = others
        self._index_of_others = HunkIndex(one.hunk for one in others)
        self._own = HunkIndex(file.hunks)
        self._revisable = revisable
        self._name = label(file.change.path) if file.change.path else "the text"
        self.accepted, self.rejected = set(file.accepted), set(file.rejected)
        self._taken = HunkIndex()
        self._added = {self._taken.add(one.hunk): one for one in taken}
        """Taken hunks of other runs, by their number in `_taken`."""
        self.edited: dict[int, dict[str, Any]] = {one["hunk"]: {**one} for one in file.edited}
        """The person's versions of hunks in the form of the answer, including rejected hunks."""
        self._made: dict[int, dict[str, Any] | bool] = {}
        self._typed = typed
        self._said = {**said}
        self._anew = set[int]()
        self.comments: list[dict[str, Any]] = []

    @property
    def added(self) -> list[Alternative]:
        """Taken hunks of other runs."""
        return [*self._added.values()]

    @property
    def answered(self) -> set[int]:
        """Newly decided hunks that were accepted or have a new comment: earlier comments are dropped."""
        said = {one["hunk"] for one in self.comments}
        return {hunk for hunk in self._anew if hunk in self.accepted | said or self._taken_for(hunk)}

    @property
    def written(self) -> list[list[Any]]:
        """Draft entries that reopen hunks but keep the person's comments and edits."""
        made = {hunk: edit for hunk, edit in self._made.items() if edit}
        hunks = sorted({*made, *(one["hunk"] for one in self.comments)})
        return [
            [hunk + 1, "o", self._comment_on(hunk), *([None, made[hunk]] if hunk in made else [])]
            for hunk in hunks
        ]

    async def pick(self, keep: Callable[[Sequence[list[Any]]], Awaitable[None]]) -> str | None:
        """Ask about each open hunk, then about hunks of other runs elsewhere in the file.

        :param keep: saves draft entries, without the file's number.
        :returns: `BACK` to return to the previous question; None at the end of input.
        """
        file = self._file
        for index in file.open:
            if index in self._anew:
                continue
            answer = await self._ask_about(index)
            while answer == "e" and not await self._edit(index):
                answer = await self._ask_about(index)
            if answer is None or answer == BACK:
                return answer
            if answer == "s":
                break
            rest = {index}
            if answer == "a":  # further conflicts are asked about
                rest |= {at for at in file.open if at > index} - file.conflicts - self._anew
                for at in rest:
                    await self._accept(at)
                self._anew.update(rest)
                await keep(self._decisions(rest))
                continue
            self._anew.add(index)
            await self._decide(index, answer)
            await keep(self._decisions(rest))
        return await self._pick_more(keep)

    async def accept_open(self, keep: Callable[[Sequence[list[Any]]], Awaitable[None]]) -> str | None:
        """Accept open hunks except conflicts; ask before one replaces a hunk of another run."""
        for index in self._file.open:
            if index in self._file.conflicts:
                continue
            if not (numbers := self._numbers_for(index)):
                self.accepted.add(index)
                continue
            others = [self._added[number] for number in numbers]
            answer = await self._ask_instead(index, others)
            if answer is None or answer == BACK:
                return answer
            self._anew.add(index)
            (self.accepted if answer == "y" else self.rejected).add(index)
            dropped = others if answer == "y" else []
            for number in numbers if dropped else ():
                self._taken.remove(number)
                del self._added[number]
            await keep([[index + 1, "a" if dropped else "r", None], *self._without(dropped)])
        return ""

    async def _ask_instead(self, index: int, others: Sequence[Alternative]) -> str | None:
        names = " and ".join(f"the hunk from the adapter {one.adapter!r} that you took" for one in others)
        words = f"hunk {index + 1} of {self._name} is open, and changes lines that {names} changes, too"
        await self._asker.show([Text(visible(words), style="yellow"), self._file.hunk_patch(index)])
        question = f"Accept hunk {index + 1} of {self._name} instead?"
        return await self._asker.choose(question, INSTEAD)

    def _without(self, dropped: Sequence[Alternative]) -> list[list[Any]]:
        """Return draft entries that drop hunks of other runs."""
        again = list[list[Any]]()
        for one in dropped:
            places = [at for at in self._own.all_clashes(one.hunk) if at in self.rejected]
            again += [[at + 1, "r", self._comment_on(at)] for at in places]
            again.append([0, "r", None, one.hunk.as_json()])
        return again

    async def _ask_about(self, index: int) -> str | None:
        file, others = self._file, self._instead_of(index)
        shown: list[RenderableType] = [file.hunk_patch(index) if file.pickable else file.patch()]
        if index in self._said:
            shown.append(Text(f"you said: {visible(self._said[index])}", style="dim"))
        options = {"y": "accept", "N": "reject"}
        if file.editable:
            options["e"] = "edit its new lines in $VISUAL or $EDITOR, and accept them"
        for number, other in enumerate(others, start=1):
            shown += other.matter(number)
            options[str(number)] = f"take the hunk from {visible(other.adapter)!r}"
        if self._revisable:
            options["b"] = "reject, because …"
        options |= {"a": "accept this and the rest of the file", "s": "skip them"}
        options[BACK] = "back, discard these choices; texts that you typed stay"
        await self._asker.show(shown)
        count = len(file.everything)
        part = f"Accept hunk {index + 1}/{count} of" if file.pickable else file.change.action.capitalize()
        return await self._asker.choose(f"{part} {self._name}?", Options(options))

    async def _decide(self, index: int, answer: str) -> None:
        if answer == "y":
            await self._accept(index)
        elif answer.isdigit():
            self.rejected.add(index)
            await self._add(self._instead_of(index)[int(answer) - 1])
        elif answer != "e":
            self.rejected.add(index)
            if answer == "b" and (why := await self._asker.type("Because?")):
                self.comments.append({"path": self._file.change.path, "hunk": index, "text": why})
                self._said[index] = why

    async def _edit(self, index: int) -> bool:
        """Let the person edit a hunk in an editor, and accept it.

        :returns: False if the hunk is still open.
        """
        hunk = self._file.hunks[index]
        if self._file.pickable and (clash := self._clash(hunk)):
            return await self._say(f"it changes lines that {clash} changes, too: reject it, or go back")
        begun = self.edited.get(index, {"old": [*hunk.old], "new": [*hunk.new]})
        proposed = self._text_of(begun["new"])
        try:
            text = await self._asker.edit(self._typed.get(index, proposed), self._file_name())
        except EditorFailed as error:
            if error.text != proposed:
                self._typed[index] = error.text
            kept = "; your text is kept: e continues with it" if index in self._typed else ""
            return await self._say(f"{error}{kept}")
        if "\0" in text:
            self._typed[index] = text
            return await self._say("a line with a NUL byte cannot be taken; e continues with what you typed")
        await self._take(index, begun["old"], self._lines_of(text, begun["new"]))
        return True

    async def _take(self, index: int, base: list[str], lines: list[str]) -> None:
        """Decide on an edited hunk: reject it if the lines equal the current ones, else accept it."""
        file, hunk = self._file, self._file.hunks[index]
        self._typed.pop(index, None)
        self.edited.pop(index, None)
        self._made[index] = False
        if file.pickable and lines == base:
            self.rejected.add(index)
            await self._say("these are the lines as they stand: the hunk is rejected")
            return
        if (base, lines) != ([*hunk.old], [*hunk.new]):
            self._made[index] = edit = {"old": base, "new": lines}
            self.edited[index] = {"hunk": index, **edit}
        self.accepted.add(index)

    def _text_of(self, lines: Sequence[str]) -> str:
        """Return the text for the editor; for a new file, its whole text."""
        return "".join(f"{line}\n" for line in lines) if self._file.pickable else "\n".join(lines)

    def _lines_of(self, text: str, begun: list[str]) -> list[str]:
        if self._file.pickable:
            return text.removesuffix("\n").split("\n") if text else []
        lines = text.split("\n")
        # editors add a line end at the end of the file
        return begun if lines == [*begun, ""] else lines

    def _file_name(self) -> str:
        """Return a file name with the suffix of the file's language."""
        suffix = PurePosixPath(self._file.change.path).suffix
        return f"hunk{suffix if SUFFIX.fullmatch(suffix) else '.txt'}"

    async def _say(self, words: str) -> Literal[False]:
        await self._asker.show([Text(visible(words), style="yellow")])
        return False

    def _decisions(self, hunks: Collection[int]) -> list[list[Any]]:
        decisions = []
        for hunk in sorted(hunks):
            taken = self._taken_for(hunk)
            state = "a" if taken or hunk in self.accepted else "r"
            comment = None if hunk in self.accepted or taken else self._comment_on(hunk)
            decision: list[Any] = [hunk + 1, state, comment]
            if taken:
                decision.append(taken[0].hunk.as_json())
            elif hunk in self._made:
                decision += [None, self._made[hunk]]
            decisions.append(decision)
        return decisions

    def _comment_on(self, hunk: int) -> dict[str, Any] | None:
        """Return the comment on a hunk in the form of a draft entry."""
        return {"text": self._said[hunk], "because": True} if hunk in self._said else None

    async def _pick_more(self, keep: Callable[[Sequence[list[Any]]], Awaitable[None]]) -> str | None:
        """Ask about hunks of other runs that change no line of this run's hunks; as `pick`."""
        for other in self._others:
            if self._own.clashes(other.hunk) or self._is_taken(other):
                continue
            await self._asker.show(
                [Text(f"only the adapter {visible(other.adapter)!r} has:", style="bold"), other.patch]
            )
            question = f"Take it, too, into {self._name}?"
            answer = await self._asker.choose(question, MORE)
            if answer is None or answer == BACK:
                return answer
            if answer == "y" and await self._add(other):
                await keep([[0, "a", None, other.hunk.as_json()]])
        return ""

    def _instead_of(self, index: int) -> list[Alternative]:
        if not self._file.pickable:
            return []
        distinct: dict[Hunk, Alternative] = {}
        for number in self._index_of_others.all_clashes(self._file.hunks[index]):
            other = self._others[number]
            if not self._is_taken(other):
                distinct.setdefault(other.hunk, other)
        return [*distinct.values()]

    def _taken_for(self, index: int) -> list[Alternative]:
        """Return the hunks of other runs taken in place of a hunk."""
        return [self._added[number] for number in self._numbers_for(index)]

    def _numbers_for(self, index: int) -> list[int]:
        return self._taken.all_clashes(self._file.hunks[index]) if self._file.pickable else []

    def _is_taken(self, other: Alternative) -> bool:
        return any(self._added[number].hunk == other.hunk for number in self._taken.all_clashes(other.hunk))

    async def _accept(self, index: int) -> None:
        clash = self._file.pickable and self._clash(self._file.hunks[index])
        if clash:
            self.rejected.add(index)
            await self._refuse(f"hunk {index + 1}", clash)
        else:
            self.accepted.add(index)

    async def _add(self, other: Alternative) -> bool:
        accepted = not self.accepted.isdisjoint(self._own.all_clashes(other.hunk))
        clash = "a hunk that you accepted" if accepted else self._clash(other.hunk)
        if clash:
            await self._refuse(f"the hunk from the adapter {other.adapter!r}", clash)
        else:
            self._added[self._taken.add(other.hunk)] = other
        return not clash

    def _clash(self, hunk: Hunk) -> str:
        """Return the phrase for a taken hunk on the same lines; empty if none."""
        number = self._taken.first_clash(hunk)
        return "" if number is None else f"a hunk from the adapter {self._added[number].adapter!r}"

    async def _refuse(self, what: str, clash: str) -> None:
        await self._say(f"{what} is left out: it changes lines that {clash} changes, too")
