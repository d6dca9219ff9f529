"""Picking of hunks of one file at the terminal, with those of other runs where there are some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from rich.text import Text

from tideate_core.cli.render.diffs import ReviewedFile
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from rich.console import RenderableType

    from tideate_core.workspace import Hunk

__all__ = ["BACK", "NO", "YES", "Alternative", "Asker", "HunkPicking", "alternatives_to"]

YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"", "n", "no", "q"})
BACK: Final = "q"
HELP: Final = (
    "y accept · n or Enter reject · a accept this and the rest of the file · s leave them out"
    " · q back, without what was picked"
)
MORE_HELP: Final = "y take it · n or Enter leave it out · q back, without what was picked"


class Asker(Protocol):
    """Asks at the terminal."""

    async def choose(self, question: str, keys: str, help_text: str, known: frozenset[str]) -> str | None: ...

    async def type(self, question: str) -> str | None: ...

    async def show(self, parts: Sequence[RenderableType], *, paged: bool = False) -> None: ...

    async def show_again(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Alternative:
    """A hunk of another run."""

    adapter: str
    hunk: Hunk
    patch: Text

    def matter(self, number: int) -> list[RenderableType]:
        """Return it as it is offered."""
        return [Text(f"{number} · {visible(self.adapter)} has here:", style="bold"), self.patch]


def alternatives_to(file: ReviewedFile, runs: Iterable[Mapping[str, Any]]) -> list[Alternative]:
    """Return the hunks that other runs make of a file's text, in the order of their places."""
    found = []
    for run in runs:
        for shape in run["files"]:
            other = ReviewedFile.of(shape)
            same = (other.change.path, other.change.before) == (file.change.path, file.change.before)
            if same and file.pickable and other.pickable:
                found += [
                    Alternative(run["adapter"], hunk, other.hunk_patch(at))
                    for at, hunk in enumerate(other.hunks)
                    if hunk not in file.hunks
                ]
    return sorted(found, key=lambda one: (one.hunk.start, one.hunk.end))


class HunkPicking:
    """Decisions on one file.

    :param others: hunks of other runs at it.
    :param taken: those of them that were taken before.
    :param revisable: a rejected hunk may be commented on.
    """

    def __init__(
        self,
        asker: Asker,
        file: ReviewedFile,
        others: Sequence[Alternative] = (),
        taken: Sequence[Alternative] = (),
        *,
        revisable: bool,
    ) -> None:
        self._asker = asker
        self._file = file
        self._others = others
        self._revisable = revisable
        self._name = label(file.change.path) if file.change.path else "the text"
        self.accepted, self.rejected = set(file.accepted), set(file.rejected)
        self.added: list[Alternative] = [*taken]
        self.comments: list[dict[str, Any]] = []
        self.anew: set[tuple[str, int]] = set()
        """What was decided, by path and hunk."""

    async def pick(self, keep: Callable[[Sequence[list[Any]]], Awaitable[None]]) -> str | None:
        """Ask about each open hunk, then about what only others change.

        :param keep: called with what was decided together, as a draft has it behind the file's number.
        :returns: `BACK` where the person wants the question before it; None at the end of input.
        """
        file = self._file
        for index in file.open:
            answer = await self._ask_about(index)
            if answer is None or answer == BACK:
                return answer
            if answer == "s":
                break
            rest = {at for at in file.open if at >= index} if answer == "a" else {index}
            self.anew.update((file.change.path, at) for at in rest)
            if answer == "a":
                for at in rest:
                    await self._accept(at)
                await keep(self._decisions(rest))
                break
            await self._decide(index, answer)
            await keep(self._decisions(rest))
        return await self._pick_more(keep)

    async def _ask_about(self, index: int) -> str | None:
        file, others = self._file, self._instead_of(index)
        shown: list[RenderableType] = [file.hunk_patch(index) if file.pickable else file.patch()]
        keys, help_text, known = ["y", "N"], HELP, {"a", "s"}
        for number, other in enumerate(others, start=1):
            shown += other.matter(number)
            keys.append(str(number))
            known.add(str(number))
            help_text += f" · {number} take that of {visible(other.adapter)}"
        if self._revisable:
            keys.append("b")
            known.add("b")
            help_text += " · b reject, because …"
        await self._asker.show(shown)
        count = len(file.everything)
        part = f"Accept hunk {index + 1}/{count} of" if file.pickable else file.change.action.capitalize()
        question = f"{part} {self._name}?"
        return await self._asker.choose(
            question, "/".join([*keys, "a", "s", BACK]), help_text, YES | NO | known
        )

    async def _decide(self, index: int, answer: str) -> None:
        if answer in YES:
            await self._accept(index)
        elif answer.isdigit():
            self.rejected.add(index)
            await self._add(self._instead_of(index)[int(answer) - 1])
        else:
            self.rejected.add(index)
            if answer == "b" and (why := await self._asker.type("Because?")):
                self.comments.append({"path": self._file.change.path, "hunk": index, "text": why})

    def _decisions(self, hunks: Collection[int]) -> list[list[Any]]:
        said = {one["hunk"]: {"text": one["text"], "because": True} for one in self.comments}
        decisions = []
        for hunk in sorted(hunks):
            taken = self._taken_for(hunk)
            state = "a" if taken or hunk in self.accepted else "r"
            decision = [hunk + 1, state, said.get(hunk)]
            decisions.append([*decision, taken.hunk.as_json()] if taken else decision)
        return decisions

    async def _pick_more(self, keep: Callable[[Sequence[list[Any]]], Awaitable[None]]) -> str | None:
        """Ask about hunks of other runs at places that this one leaves as they are; as `pick`."""
        for other in self._others:
            if any(other.hunk.clashes(hunk) for hunk in self._file.hunks) or self._is_taken(other):
                continue
            await self._asker.show([Text(f"only {visible(other.adapter)} has:", style="bold"), other.patch])
            question = f"Take it, too, into {self._name}?"
            answer = await self._asker.choose(question, "y/N/q", MORE_HELP, YES | NO)
            if answer is None or answer == BACK:
                return answer
            if answer in YES and await self._add(other):
                await keep([[0, "a", None, other.hunk.as_json()]])
        return ""

    def _instead_of(self, index: int) -> list[Alternative]:
        if not self._file.pickable:
            return []
        own = self._file.hunks[index]
        distinct: dict[Hunk, Alternative] = {}
        for other in self._others:
            if other.hunk.clashes(own) and not self._is_taken(other):
                distinct.setdefault(other.hunk, other)
        return [*distinct.values()]

    def _taken_for(self, index: int) -> Alternative | None:
        """Return the hunk of another run that was taken in place of an own one."""
        own = self._file.hunks[index] if self._file.pickable else None
        return next((one for one in self.added if own is not None and one.hunk.clashes(own)), None)

    def _is_taken(self, other: Alternative) -> bool:
        return any(other.hunk == one.hunk for one in self.added)

    async def _accept(self, index: int) -> None:
        clash = self._file.pickable and self._clash(self._file.hunks[index], ())
        if clash:
            self.rejected.add(index)
            await self._refuse(f"hunk {index + 1}", clash)
        else:
            self.accepted.add(index)

    async def _add(self, other: Alternative) -> bool:
        clash = self._clash(other.hunk, [self._file.hunks[at] for at in self.accepted])
        if clash:
            await self._refuse(f"the hunk of {other.adapter}", clash)
        else:
            self.added.append(other)
        return not clash

    def _clash(self, hunk: Hunk, accepted: Iterable[Hunk]) -> str:
        """Return what was taken before of the same lines; empty for nothing."""
        if any(hunk.clashes(one) for one in accepted):
            return "a hunk that you accepted"
        found = next((one.adapter for one in self.added if one.hunk.clashes(hunk)), None)
        return "" if found is None else f"a hunk of {found}"

    async def _refuse(self, what: str, clash: str) -> None:
        words = f"{what} is left out: it changes lines that {clash} changes, too"
        await self._asker.show([Text(visible(words), style="yellow")])
