"""Ask a run's questions at the terminal: confirmations, plans, documents, comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from tideate_core.cli.answer_drafts import ReviewDraft, with_earlier_answer
from tideate_core.cli.keyboard import Keyboard, Options
from tideate_core.cli.pager import Pager
from tideate_core.cli.plan_text import (
    Draft,
    PlanDraft,
    document_matter,
    read_comment,
    said_before,
)
from tideate_core.cli.render.comparison import comparison_matter
from tideate_core.cli.render.output import markdown_source
from tideate_core.cli.review import (
    ENDED,
    LEAVE,
    LEAVING,
    SENT,
    ReviewQuestion,
    WrittenReviewQuestion,
    review_matter,
)
from tideate_core.engine import BACK, FIX, FOR_PROJECT, FOR_RUN
from tideate_core.util.escaping import label, shortened_runs, visible
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rich.console import Console, RenderableType

    from tideate_core.engine import ConfirmationRequest

DECLINED_DECISION = Decision(False, reason="declined")
PERMISSIONS = {"r": FOR_RUN, "a": FOR_PROJECT}
NO_FILE = "no file is left in the plan: e edits it, n declines it"
PAGES = "d"
LONGEST_QUESTION = 400
"""Maximum characters of a question on the prompt line."""


def subject_matter(request: ConfirmationRequest, *, rendered: bool = True) -> list[RenderableType]:
    """Render the subject of a question: plan, review, comparison or document, details and warnings.

    :param rendered: colour Markdown sources.
    """
    shown: list[RenderableType] = []
    if request.kind == "plan":
        shown.append(_plan_table(request.payload["files"], request.payload.get("changed", ())))
        shown += _taken_out(request.payload.get("out", ()))
        shown += said_before(request.payload)
    if request.kind == "review":
        shown += review_matter(request.payload)
    if request.kind == "compare":
        shown += comparison_matter(request.payload)
    if request.kind == "document":
        shown += document_matter(request.payload, coloured=rendered, question=request.message)
    return [*shown, *_asides(request, rendered=rendered)]


def _asides(request: ConfirmationRequest, *, rendered: bool = True) -> list[RenderableType]:
    """Render the details and warnings of a question."""
    if not request.details:
        return [*_warnings(request)]
    # the source: rendered Markdown hides comments and the targets of links and images
    details = request.details
    return [markdown_source(details) if rendered else Text(visible(details)), *_warnings(request)]


def _warnings(request: ConfirmationRequest) -> list[Text]:
    """Render a warning for each file that other tools run automatically."""
    return [
        Text(f"warning: other tools run {label(one.path)}: {one.reason}", style="bold red")
        for one in request.executed
    ]


def answered(request: ConfirmationRequest, decision: Decision) -> Text:
    """Render a question with its automatic answer, for the log of an unattended run."""
    kept = ", your earlier decisions are kept" if decision.value is not None else ""
    answer = f"yes{kept}" if decision.accepted else f"no, {visible(decision.reason)}"
    return Text.assemble((visible(request.message), "bold"), (f" [{answer}]", "cyan"))


class Questions:
    """Dialogs at the terminal, one at a time. Ctrl-C is not an answer: it cancels the run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._keyboard = Keyboard(console)
        self._matter = Pager(console, [])

    async def ask(self, request: ConfirmationRequest, said: Sequence[RenderableType] = ()) -> Decision:
        """Show the subject of a question and ask it.

        :param said: shown before the subject.
        """
        request = await with_earlier_answer(request, self)
        review = await self._review(request) if request.kind == "review" else None
        matter = subject_matter(request) if review is None else [*review.matter(), *_asides(request)]
        about: list[RenderableType] = [*said, *matter]
        if _is_long(request.message):
            about.append(Text(visible(request.message), style="bold"))
        self._matter = Pager(self._console, about)
        self._matter.show()
        if request.kind == "plan":
            return await self._plan(request)
        if review is not None:
            return await review.ask()
        if request.kind == "compare":
            return await self._choice(request)
        if request.kind == "document":
            return await self._document(request)
        if request.kind == "tool":
            return await self._tool(request)
        return await self._yes_or_no(request)

    async def _review(self, request: ConfirmationRequest) -> ReviewQuestion | WrittenReviewQuestion:
        draft = ReviewDraft(self, request.draft)
        await draft.read()
        kind = WrittenReviewQuestion if request.payload.get("written") else ReviewQuestion
        return kind(self, request.payload, request.message, draft, request.check)

    async def _choice(self, request: ConfirmationRequest) -> Decision:
        runs = request.payload["runs"]
        numbers = {str(at): one for at, one in enumerate(runs, start=1) if one["takable"]}
        shown = {number: visible(one["adapter"]) for number, one in numbers.items()}
        options = Options({**shown, "n": "none of them", PAGES: "show again"}, LEAVING)
        while (answer := await self.choose(request.message, options)) not in {None, LEAVE}:
            if answer == PAGES:
                await self.show_again()
            elif answer != "n":
                return Decision(True, {"take": numbers[answer]["execution_id"]})
            elif await self._line("Take none of the answers?", "y/N") in ("y", "yes"):
                return DECLINED_DECISION
        return ENDED

    async def _tool(self, request: ConfirmationRequest) -> Decision:
        options = {"y": "once", "N": "no"}
        if not request.payload.get("single"):  # a single call belongs to no run
            options["r"] = "for the rest of this run"
        options["a"] = "always in this project, until the tool changes"
        answer = await self.choose(request.message, Options(options))
        if answer is None:
            return ENDED
        return DECLINED_DECISION if answer == "n" else Decision(True, PERMISSIONS.get(answer))

    async def _yes_or_no(self, request: ConfirmationRequest) -> Decision:
        payload = request.payload if isinstance(request.payload, dict) else {}
        back = payload.get("back")
        options = {"y": "yes", "N": "back to the review" if back else "no"}
        if payload.get("fixable"):
            options["f"] = "let the model correct it"
        answer = await self.choose(request.message, Options(options))
        if answer is None:
            return ENDED
        if back and answer == "n":
            return Decision(False, BACK, reason="back to the review")
        if answer == "f":
            return Decision(False, FIX, reason="the model corrects it")
        return Decision(True) if answer == "y" else DECLINED_DECISION

    async def _plan(self, request: ConfirmationRequest) -> Decision:
        draft = PlanDraft([*request.payload["files"]], [*request.payload.get("out", ())])
        comments = _Comments(request.payload)
        options = Options(
            {"y": "yes", "N": "no", "e": "edit as text", **comments.options},
            {"1 3": "remove files 1 and 3", **LEAVING},
        )
        while True:
            files = draft.files
            question = f"Continue with {len(files)} file{'' if len(files) == 1 else 's'}?"
            line = await self._line(question, f"{options.keys}/numbers")
            if line is None or (answer := options.chosen(line)) == LEAVE:
                return ENDED
            if answer == "y" and files:
                return Decision(True, {"files": files})
            if answer == "n":
                return DECLINED_DECISION
            if answer == "e":
                if (problem := await draft.edit(self._keyboard)) is not None:
                    self._console.print(Text(visible(problem), style="red"))
                    continue
            elif answer is not None and answer in comments.options:
                paths = [file["path"] for file in files]
                if said := await comments.ask(self, answer, "file", "path", paths):
                    return Decision(False, {"files": files, "comments": said}, reason=SENT)
                continue
            elif (numbers := _numbers(line, len(files))) is not None:
                draft.take_out(numbers)
            else:
                self._console.print(options.help if files else NO_FILE, style="dim")
                continue
            self._console.print(_plan_table(draft.files), *_taken_out(draft.out), sep="\n")

    async def _document(self, request: ConfirmationRequest) -> Decision:
        draft = Draft.of(request.payload)
        comments = _Comments(request.payload)
        shown = {"y": "yes", "N": "no", "e": "edit it in $VISUAL or $EDITOR", **comments.options}
        options = Options({**shown, PAGES: "show it again"}, LEAVING)
        while True:
            answer = await self.choose(request.message, options)
            if answer is None or answer == LEAVE:
                return ENDED
            if answer == "y":
                return Decision(True, draft.value)
            if answer == "n":
                return DECLINED_DECISION
            if answer in comments.options:
                lines = range(1, len(draft.text.rstrip("\n").split("\n")) + 1)
                if said := await comments.ask(self, answer, "line", "line", lines):
                    return Decision(False, {**(draft.value or {}), "comments": said}, reason=SENT)
                continue
            if answer != PAGES and (problem := await draft.edit(self._keyboard)) is not None:
                self._console.print(Text(visible(problem), style="red"))
                continue
            # lines changed by the model are unknown in an edited text
            now = {"text": draft.text, "revisable": request.payload.get("revisable")}
            if draft.text == request.payload["text"]:
                now["changed"] = request.payload.get("changed", ())
            await self.show(document_matter(now, coloured=True), paged=answer == PAGES)

    async def choose(self, question: str, options: Options) -> str | None:
        """Ask until an option is chosen; None at the end of input."""
        pages = self._matter.is_long and PAGES not in options.shown
        if pages:
            options = replace(options, shown={**options.shown, PAGES: "show all of it, page by page"})
        while (line := await self._line(question, options.keys)) is not None:
            answer = options.chosen(line)
            if answer == PAGES and pages:
                await self.show_again()
            elif answer is not None:
                return answer
            else:
                self._console.print(options.help, style="dim")
        return None

    async def type(self, question: str) -> str | None:
        """Ask for a line of text; None at the end of input."""
        return await self._keyboard.line(Text(question, style="bold"))

    async def edit(self, text: str, name: str) -> str:
        """Return a text edited in the person's editor.

        :raises EditorFailed: the editor cannot be started, or failed.
        """
        return await self._keyboard.edit(text, name)

    async def show_again(self) -> None:
        """Show the last subject again, page by page."""
        await self._matter.turn_pages(self._keyboard)

    async def _line(self, question: str, keys: str) -> str | None:
        words = "Yes?" if _is_long(question) else shortened_runs(visible(question)).replace("\t", r"\t")
        line = await self._keyboard.line(Text.assemble((words, "bold"), (f" [{keys}]", "cyan")))
        return None if line is None else line.lower()

    async def show(self, parts: Sequence[RenderableType], *, paged: bool = False) -> None:
        """Show the subject of the next question.

        :param paged: page by page; otherwise as much as fits on the screen.
        """
        self._matter = Pager(self._console, parts)
        if paged:
            await self._matter.turn_pages(self._keyboard)
        else:
            self._matter.show()


class _Comments:
    """Comments of the person for the model that wrote a plan or a document."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self._unanswered: list[dict[str, Any]] = list(payload.get("comments", ()))
        self.options: dict[str, str] = {}
        if payload.get("revisable"):
            self.options["c"] = "describe the change"
            if self._unanswered:
                self.options["r"] = "send your comments again"

    async def ask(
        self, questions: Questions, answer: str, noun: str, key: str, places: Sequence[Any]
    ) -> list[dict[str, Any]]:
        """Ask for a comment; return all comments to send, none if the answer is empty.

        :param noun: name of a numbered place, such as `line`.
        :param key: key of the place in a comment.
        """
        if answer == "r":
            return self._unanswered
        typed = await questions.type(f"What is to change? (`2: …` is about {noun} 2)")
        number, text = read_comment(typed or "", len(places))
        if not text:
            return []
        said = {"text": text} if number is None else {key: places[number - 1], "text": text}
        return [*self._unanswered, said]


def _is_long(question: str) -> bool:
    """Return whether a question is too long for the prompt line."""
    return "\n" in question or len(question) > LONGEST_QUESTION


def _plan_table(files: list[dict[str, Any]], changed: Collection[str] = ()) -> Table:
    """Render the files of a plan; mark the files changed by a revision."""
    table = Table("", "action", "file", "why", box=None, header_style="dim", padding=(0, 1))
    styles = {"create": "green", "delete": "red", "move": "yellow"}
    for number, file in enumerate(files, start=1):
        target = f" → {label(file['move_to'])}" if file.get("move_to") else ""
        action = Text(file["action"], style=styles.get(file["action"], ""))
        path = Text(label(file["path"]) + target, overflow="fold")
        why = Text(" ".join(visible(file.get("why", "")).split()), overflow="fold")
        mark = f"~{number}" if file["path"] in changed else str(number)
        table.add_row(mark, action, path, why)
    return table


def _taken_out(files: Sequence[Mapping[str, Any]]) -> list[Text]:
    names = ", ".join(label(file["path"]) for file in files)
    return [Text(f"taken out: {names}; e includes them again", style="dim")] if files else []


def _numbers(answer: str, count: int) -> set[int] | None:
    """Parse numbers such as `1 3` or `1,3`; None if the answer has anything else."""
    words = answer.replace(",", " ").split()
    if not words or not all(word.isascii() and word.isdigit() and 1 <= int(word) <= count for word in words):
        return None
    return {int(word) for word in words}
