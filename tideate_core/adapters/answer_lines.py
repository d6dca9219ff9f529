"""State of the current line in a streamed answer: in a code fence, code or prose."""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)\Z")
_LONGEST_LINE: Final = 200
"""Characters of a line that are examined."""
_INDENT: Final = 3
"""Columns by which a tag at the start of a line may be indented, or a closing fence may exceed the opening
one."""
_LONGEST_PREAMBLE: Final = 120
_ENDS_OF_SENTENCES: Final = (*".!?\u2026\u3002\uff01\uff1f",)
_ENDS_OF_WORDS: Final = (*_ENDS_OF_SENTENCES, *":;)]}*\"'`\u300d\u300f\uff09\uff1a\uff1b")
_COMMENT: Final = re.compile(r"#+(?:\s|\Z)")
"""A program's comment, or a Markdown heading."""
_CODE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:\t| {2,})\S",
        # markup, objects, lists, sections
        r"[<{]",
        r"\[(?:[\"'{\[\]\d-]|[\w. -]+\]\Z)",
        r"[\"'][\w.-]+[\"']\s*:",
        # decorators, comments, docstrings, diffs
        r"@|//|/\*|--|#[!\w]|\"\"\"|'''",
        r"\+\+|[-+][^\s\d]|(?:diff|index) ",
        # statements
        r"return(?:[\s;]|\Z)",
        r"from [\w.]+ import |import (?:[\"'{*]|[\w.]+[;,]?\Z|[\w.]+ as |.* from )",
        r"(?:(?:export|public|private|protected|static|final|abstract|async|pub|default)\s+)*"
        r"(?:def|class|function|fn|func|interface|struct|enum|impl|trait|namespace|module|package|type)"
        r"\s+[\w.$:]+\s*(?:[({:;=<]|extends\b|implements\b|\Z)",
        r"(?:if|for|while|with|elif|else|try|except|match|switch|case)\b.*[:{]\Z",
        r"(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WITH)\s",
        # assignments, calls, keys
        r"(?:(?:var|let|const|local|val|auto|final|int|str|string|bool|float|double|char)\s+)?"
        r"[\w.$\[\]\"']+(?:\s*:\s*[\w\[\], .|]{1,60})?\s*(?:[-+*/|&^%:]|<<|>>|\?\?)?=(?!=)",
        r"[\w.$]+\(.*\);?\Z",
        r"(?:- )?[a-z_][\w-]*:(?:\s|\Z)",
        r".*(?:[{;(\[\\]|=>|&&)\Z",
    )
)


def is_line_of_code(line: str) -> bool:
    """Tell whether a line is code, data or part of a diff, not prose."""
    line = line.rstrip()
    return any(pattern.match(line) for pattern in _CODE)


class AnswerLines:
    """State of the current line of a text, and the kind of the lines before it."""

    def __init__(self) -> None:
        self.last = ""
        """Last character."""
        self._line = ""
        self._backticks = 0
        self._fence: re.Match[str] | None = None
        """The open fence."""
        self._previous = ""
        """The last non-blank line outside fences."""
        self._begins_as_code: bool | None = None
        """None until a line decides it."""

    def take(self, text: str) -> None:
        first, *rest = text.split("\n")
        self._extend(first)
        for line in rest:
            self._end_line()
            self._extend(line)

    def begin_text(self) -> None:
        """Start a new text after a thought."""
        self._begin_line()
        self._previous, self._begins_as_code = "", None

    @property
    def is_fenced(self) -> bool:
        return self._fence is not None

    @property
    def is_code(self) -> bool:
        """True inside a fence or between backticks."""
        return self.is_fenced or (self._backticks % 2 == 1 and not _FENCE.match(self._line))

    @property
    def is_blank(self) -> bool:
        """True if the text has only white space so far."""
        return not self._previous and not self._line.strip()

    @property
    def is_program(self) -> bool:
        """True if the first line shows that the text is code, data or a diff."""
        known = self._begins_as_code
        return is_line_of_code(self._line) if known is None else known

    @property
    def is_line_of_code(self) -> bool:
        """True if the line is code; a blank line has the kind of the previous line."""
        if not self._line.strip():
            is_context = bool(self._line) and self._previous.startswith(" ")  # a diff's context line
            return is_context or is_line_of_code(self._previous)
        return is_line_of_code(self._line) or _COMMENT.match(self._line) is not None

    @property
    def is_preamble(self) -> bool:
        """True if the previous line is one short sentence."""
        return len(self._previous) <= _LONGEST_PREAMBLE and _ends_sentence(self._previous)

    @property
    def is_empty(self) -> bool:
        """True if the line has no characters yet."""
        return not self._line

    @property
    def begins(self) -> bool:
        """True if the line has no text yet."""
        return not self._line.strip() and len(self._line.expandtabs(4)) <= _INDENT

    @property
    def ends_words(self) -> bool:
        """True if a tag here follows words without a space."""
        if self.last in _ENDS_OF_WORDS:
            return True
        # a single word may be a value in a table
        several = not self._previous or " " in self._line.strip() or not self._line.isascii()
        return self.last.isalnum() and several

    @property
    def ends_sentence(self) -> bool:
        return _ends_sentence(self._line)

    @property
    def closes_fence(self) -> bool:
        """True if the line closes the fence, as far as the line is known."""
        fence = _FENCE.match(self._line.rstrip("\r"))
        return (
            self._fence is not None
            and fence is not None
            and not fence["info"].strip()
            and fence["ticks"].startswith(self._fence["ticks"])
            and len(fence["indent"].expandtabs(4)) <= len(self._fence["indent"].expandtabs(4)) + _INDENT
        )

    def _extend(self, text: str) -> None:
        if text:
            self._line += text[: _LONGEST_LINE - len(self._line)]
            self._backticks += text.count("`")
            self.last = text[-1]

    def _begin_line(self) -> None:
        self.last = self._line = ""
        self._backticks = 0

    def _end_line(self) -> None:
        if self.closes_fence:
            self._fence = None
            self._note_line()
        elif self._fence is None:
            self._fence = _FENCE.match(self._line.rstrip("\r"))
            self._note_line()
        self._begin_line()

    def _note_line(self) -> None:
        """Update the kind of the text from its line."""
        if not self._line.strip():
            return
        self._previous = self._line
        if self._begins_as_code is None and not _COMMENT.match(self._line):
            self._begins_as_code = self._fence is None and is_line_of_code(self._line)


def _ends_sentence(line: str) -> bool:
    return line.rstrip()[-1:] in _ENDS_OF_SENTENCES
