"""Plans and documents as editable text for `$EDITOR`, and the parsing of edited plans."""

from __future__ import annotations

import contextlib
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rich.text import Text

from tideate_core.cli.keyboard import EditorFailed, Keyboard
from tideate_core.cli.render.output import markdown_source
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rich.console import RenderableType

NUMBERED = re.compile(r"(?P<number>[0-9]{1,6}):\s+(?P<text>\S.*)", re.DOTALL)
_SUFFIXES = {"markdown": ".md"}


def document_matter(payload: dict[str, Any], *, coloured: bool, question: str = "") -> list[RenderableType]:
    """Render a document with the problems of the person's last version and unanswered comments.

    :param coloured: colour Markdown.
    :param question: problems named in the question are not repeated.
    """
    shown: list[RenderableType] = [
        Text(f"✗ {visible(problem)}", style="red")
        for problem in payload.get("problems", ())
        if problem not in question
    ]
    if payload.get("title"):
        shown.append(Text(visible(payload["title"]), style="bold"))
    text = payload["text"]
    written = markdown_source(text) if coloured else Text(visible(text))
    shown.append(_numbered(written, payload.get("changed", ())) if payload.get("revisable") else written)
    return [*shown, *said_before(payload)]


def said_before(payload: Mapping[str, Any]) -> list[Text]:
    """Render the unanswered comments."""
    return [
        Text(f"you said{visible(_place(one))}: {visible(one['text'])}", style="dim")
        for one in payload.get("comments", ())
    ]


def _place(comment: Mapping[str, Any]) -> str:
    if "line" in comment:
        return f" of line {comment['line']}"
    return f" of {comment['path']}" if "path" in comment else ""


def _numbered(text: Text, changed: Collection[int]) -> Text:
    """Add line numbers to a text; mark the lines changed by a revision."""
    lines = text.split("\n", allow_blank=True)
    width = len(str(len(lines)))

    def margin(at: int) -> tuple[str, str]:
        return (f"~{at:>{width}} ", "yellow") if at in changed else (f" {at:>{width}} ", "dim")

    return Text("\n").join(Text.assemble(margin(at), line) for at, line in enumerate(lines, start=1))


def read_comment(line: str, count: int) -> tuple[int | None, str]:
    """Parse a comment such as `2: text`; return the number, None for a general comment, and the text.

    :param count: the highest valid number.
    """
    found = NUMBERED.fullmatch(line.strip())
    if found is None or not 1 <= int(found["number"]) <= count:
        return None, line.strip()
    return int(found["number"]), found["text"]


@dataclass(slots=True)
class Draft:
    """A document with the person's edits."""

    proposed: str
    filetype: str
    refused: bool
    """Whether the last accepted text was refused: `proposed` is then the person's text."""
    text: str
    """Current text for acceptance."""
    typed: str | None = None
    """Content of a failed editor's file; the next edit begins with it."""

    @classmethod
    def of(cls, payload: dict[str, Any]) -> Self:
        """Return the initial draft of a question."""
        text, filetype = payload["text"], payload.get("filetype", "markdown")
        return cls(payload.get("proposed", text), filetype, bool(payload.get("problems")), text)

    async def edit(self, keyboard: Keyboard) -> str | None:
        """Edit the text; return an error message, or None on success."""
        suffix = _SUFFIXES.get(self.filetype, ".txt")
        begins = self.text if self.typed is None else self.typed
        try:
            self.text = await keyboard.edit(begins, f"plan{suffix}")
        except EditorFailed as error:
            self.typed = error.text if error.text != self.text else None
            kept = f"; {KEPT}" if self.typed else ""
            return f"{error}{kept}"
        self.typed = None
        return None

    @property
    def value(self) -> dict[str, str] | None:
        """Value of an acceptance: the text, if it was changed."""
        # after a refusal, an unchanged text is still the person's, not the original proposal
        changed = self.text != self.proposed or self.refused
        return {"text": self.text} if changed else None


KEPT = "your text is kept: e continues with it, y accepts without it"
PLAN_HELP = """\
# One file a line: ACTION PATH [-> TARGET] [# WHY]
# The actions are create, modify, delete and move; only a move has a target.
# Delete a line to remove its file from the plan. Quote names with blanks or #.
# Remove the # before a removed file to include it again.
"""
WORD = re.compile(r"""\s+|#.*|(?:"[^"]*"|'[^']*'|[^\s"'#])+""")
"""Blanks, a comment, or a word with shell quoting."""
NO_FILE = "expected ACTION PATH, or ACTION PATH -> TARGET"
ACTIONS = ("create", "modify", "delete", "move")


@dataclass(slots=True)
class PlanDraft:
    """A plan with the person's edits."""

    files: list[dict[str, Any]]
    out: list[dict[str, Any]]
    """Removed files."""
    typed: str | None = None
    """An invalid text, or the content of a failed editor's file; the next edit begins with it."""

    def take_out(self, numbers: Collection[int]) -> None:
        """Remove files from the plan by number, from 1."""
        placed = [*enumerate(self.files, start=1)]
        self.out += [file for at, file in placed if at in numbers]
        self.files = [file for at, file in placed if at not in numbers]

    async def edit(self, keyboard: Keyboard) -> str | None:
        """Edit the plan as text; return an error message, or None on success."""
        proposed = text = ""
        try:
            proposed = plan_to_text(self.files, self.out)
            text = await keyboard.edit(self.typed or proposed, "files.plan")
            files = plan_from_text(text)
        except (EditorFailed, ValueError) as error:
            text = error.text if isinstance(error, EditorFailed) else text
            self.typed = text if text != proposed else None
            return f"{error}; {KEPT}" if self.typed else str(error)
        out = _commented(text) - {file["path"] for file in files}
        self.out = [file for file in (*self.files, *self.out) if file["path"] in out]
        self.files, self.typed = files, None
        return None


def plan_to_text(files: Sequence[dict[str, Any]], out: Sequence[dict[str, Any]] = ()) -> str:
    """Format a plan as text, below a short help.

    :param out: removed files, as comments.
    :raises ValueError: a name has a line break.
    """
    for file in files:
        if odd := next((name for name in _names(file) if not _is_one_line(name)), None):
            raise ValueError(f"{odd!r} cannot be written on one line; remove the file by its number")
    lines = [_line(file) for file in files]
    lines += [f"# {_line(file)}" for file in out if all(map(_is_one_line, _names(file)))]
    return PLAN_HELP + "\n".join(lines) + "\n"


def _names(file: Mapping[str, Any]) -> list[str]:
    return [file["path"], file.get("move_to") or ""]


def _is_one_line(name: str) -> bool:
    return len(f"{name}.".splitlines()) == 1


def _line(file: Mapping[str, Any]) -> str:
    words = [file["action"], shlex.quote(file["path"])]
    if file.get("move_to"):
        words += ["->", shlex.quote(file["move_to"])]
    if file.get("why"):
        words += ["#", " ".join(file["why"].split())]
    return " ".join(words)


def plan_from_text(text: str) -> list[dict[str, Any]]:
    """Parse an edited plan.

    :raises ValueError: a line is invalid; the message has its number.
    """
    files = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                files.append(_plan_file(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    return files


def _commented(text: str) -> set[str]:
    """Return the paths of files in comments of a plan."""
    found = set[str]()
    for line in text.splitlines():
        # most comments name no file
        with contextlib.suppress(ValueError):
            found |= {_plan_file(line.lstrip()[1:])["path"]} if line.lstrip().startswith("#") else set()
    return found


def _plan_file(line: str) -> dict[str, Any]:
    words, why = _split_line(line)
    if not words:
        raise ValueError(NO_FILE)
    if words[0] not in ACTIONS:
        raise ValueError(f"{words[0]!r} is not an action; known are {', '.join(ACTIONS)}")
    file: dict[str, Any] = {"action": words[0]}
    match words[1:]:
        case [path]:
            file["path"] = path
        case [path, "->", target]:
            file |= {"path": path, "move_to": target}
        case _:
            raise ValueError(NO_FILE)
    return file | ({"why": why} if why else {})


def _split_line(line: str) -> tuple[list[str], str]:
    words: list[str] = []
    at = 0
    while at < len(line):
        match = WORD.match(line, at)
        if match is None:
            raise ValueError("a quote is not closed")
        found = match[0]
        if found.startswith("#"):
            return words, found[1:].strip()
        words += shlex.split(found)
        at = match.end()
    return words, ""
