"""Splitter of streamed text into a model's thoughts and its answer, by tags such as `<think>`."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from tideate_core.adapters.answer_lines import AnswerLines


class Kind(StrEnum):
    """Kind of a piece of text."""

    ANSWER = "answer"
    THOUGHT = "thought"
    RETRACTION = "retraction"
    """The answer since the last thought was a thought, too; the piece repeats its text."""
    RESTORATION = "restoration"
    """The last retracted text is the answer after all, because no other follows; the piece repeats it."""


class _Mode(StrEnum):
    TEXT = "text"
    THOUGHT = "thought"
    UNDECIDED = "undecided"
    """After an opening tag within a line: a thought if it ends on a later line, else text."""
    HEADER = "header"
    """Between `<|start|>` or `<|channel|>` and `<|message|>`."""
    BARE = "bare"
    """After a leading `analysis`: channels without their marks, which a server omitted."""


_TAG: Final = re.compile(
    r"(?P<think><(?P<ends>/?)(?P<word>(?:[a-z][\w.-]{0,23}:)?think(?:ing)?)"
    r"(?P<attributes>[ \t][^<>\n]{0,300})?(?<!/)>)"
    r"|(?P<leading><(?P<leading_ends>/?)(?P<name>thoughts?|reasoning|reflection|analysis|scratchpad)"
    r"(?:[ \t][^<>\n]{0,300})?(?<!/)>)"
    r"|(?P<begin>\[THINK\]|<\|START_THINKING\|>|<\|begin_of_thought\|>|◁think▷|<\|channel>)"
    r"|(?P<finish>\[/THINK\]|<\|END_THINKING\|>|<\|end_of_thought\|>|◁/think▷|<channel\|>)"
    r"|(?P<header><\|(?:start|channel)\|>)"
    r"|(?P<message><\|message\|>)"
    r"|(?P<stop><\|(?:im_end|eot_id|eom_id|eot|endoftext|end_of_text|end_of_turn|end|return|call)\|>"
    r"|<\|(?:END_RESPONSE|END_OF_TURN_TOKEN|end_of_solution)\|>|</s>|<end_of_turn>|<eos>|<turn\|>"
    r"|<\uff5cend\u2581of\u2581sentence\uff5c>)"
    r"|(?P<mark><\|(?:START_RESPONSE|begin_of_solution)\|>)",
    re.IGNORECASE,
)
_TAG_START: Final = re.compile(r"[<\[◁]")
"""First characters of tags; searching for these first is 30 times as fast."""
_BEGUN: Final = re.compile(
    r"(?:<[\w|/:.\-\uff5c\u2581]{0,40}|\[/?[a-z]{0,5}|◁/?[a-z]{0,5}"
    r"|</?[a-z][\w.:-]{1,35}[ \t][^<>\n]{0,300})\Z",
    re.IGNORECASE,
)
"""End of a text that the next delta may complete to a tag."""
_LONGEST_TAG: Final = 350
_SPACES: Final = re.compile(r"[ \t]{0,40}")
_CHANNEL: Final = re.compile(r"<\|channel\|>\s*(\w+)")
_FINAL_CHANNEL: Final = "final"
_THOUGHT_CHANNELS: Final = frozenset({"analysis", "commentary"})
_LONGEST_WORD: Final = 16
_LONGEST_HEADER: Final = 200
_MOST_READINGS: Final = 8
"""Times the rest of an answer is read again after a thought without a clear end."""
_QUOTES: Final = "'\"\u201c\u2018([{"
_UNQUOTES: Final = "'\"\u201d\u2019)]}"
_CONTINUING: Final = "'\"\\)]|,;"
"""Characters after a tag in code that make it part of the line, for example of a pattern."""
_ANALYSIS: Final = "analysis"
_FINAL: Final = "assistantfinal"


class ThoughtSplitter:
    """Splits the text of one answer, delta by delta; the result does not depend on the cuts.

    A thought is at the beginning or after prose. In code, data and diffs, with or without a fence, tags
    belong to the answer; so do tags between backticks or quotation marks. A closing tag alone ends a
    thought if it begins a line or follows words without a space. An unclosed thought extends to the end.
    """

    def __init__(self) -> None:
        self._mode = _Mode.TEXT
        self._buffer = ""
        """Unprocessed text, which the next delta may complete to a tag."""
        self._fresh = True
        self._lines = AnswerLines()
        """Lines of the answer."""
        self._inner = AnswerLines()
        """Lines of the thought."""
        self._ended_by = ""
        """Tag that ends the thought: a group of `_TAG`, or a leading tag's name."""
        self._held: list[str] = []
        """Text of undecided kind."""
        self._end: tuple[int, int] | None = None
        """Position in `_held` of a tag that ends the thought unless a clearer one follows."""
        self._is_own_line = False
        """That tag is alone on its line."""
        self._later_line = False
        self._may_begin_within_line = True
        self._readings = 0
        self._retracted = ""
        """Text that the last closing tag turned into a thought; empty after another thought begins."""
        self._answer: list[str] = []
        self._since_thought = 0
        """Number of answer pieces before the last thought."""
        self._had_tag = False
        """A tag has begun a thought."""
        self._own_tags = 0
        """Unclosed opening tags of the answer on lines of their own."""
        self._blank: str | None = None
        """White space after a thought, which is dropped; None after the first word."""
        self._stops = ""
        """End tokens, which are dropped if only white space follows."""
        self._pieces: list[tuple[Kind, str]] = []

    @property
    def answer(self) -> str:
        """The answer so far."""
        return "".join(self._answer)

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        """Process a delta, and return the decided pieces."""
        self._buffer += text
        self._read(final=False)
        return self._taken()

    def finish(self, *, before_call: bool = False) -> list[tuple[Kind, str]]:
        """Return the last pieces after the last delta.

        :param before_call: a tool call follows, so there may be no answer. Otherwise text before a
            closing tag at the very end is the answer.
        """
        self._read(final=True)
        while (again := self._rest_to_read_again()) is not None:
            self._buffer = again
            self._read(final=True)
        if self._retracted and not before_call and not self.answer.strip():
            self._answer.append(self._retracted)
            self._pieces.append((Kind.RESTORATION, self._retracted))
        if self._mode in (_Mode.THOUGHT, _Mode.HEADER):
            self._emit_thought("".join(self._held))
        if "</s>" in self._stops and "<s>" in self.answer:  # struck-through text
            self._answer.append(self._stops)
            self._pieces.append((Kind.ANSWER, self._stops))
        return self._taken()

    def _taken(self) -> list[tuple[Kind, str]]:
        pieces, self._pieces = self._pieces, []
        return pieces

    # reading

    def _read(self, *, final: bool) -> None:
        if self._fresh and not self._begin(final=final):
            return
        at = 0
        while self._mode is not _Mode.BARE:
            tag = _next_tag(self._buffer, at)
            if tag is None:
                begun = _BEGUN.search(self._buffer, max(at, len(self._buffer) - _LONGEST_TAG))
                end = begun.start() if begun and not final else len(self._buffer)
                self._take(self._buffer[at:end])
                self._buffer = self._buffer[end:]
                return
            self._take(self._buffer[at : tag.start()])
            spaces = _SPACES.match(self._buffer, tag.end())
            after = spaces.end() if spaces else tag.end()
            if after == len(self._buffer) and not final:
                self._buffer = self._buffer[tag.start() :]
                return
            at = tag.end()
            self._take_tag(tag, ends_line=self._buffer[after : after + 1] in ("", "\n", "\r"))
        self._read_bare(self._buffer[at:], final=final)

    def _begin(self, *, final: bool) -> bool:
        """Examine the first letters; return False while there are too few."""
        if not final and len(self._buffer) <= len(_ANALYSIS) and _ANALYSIS.startswith(self._buffer):
            return False
        self._fresh = False
        if self._buffer.startswith(_ANALYSIS) and self._buffer[len(_ANALYSIS) :][:1].isalpha():
            self._mode = _Mode.BARE
        return True

    def _read_bare(self, text: str, *, final: bool) -> None:
        self._buffer = ""
        before = self._held.pop() if self._held else ""
        found = (before + text).find(_FINAL)
        if found < 0:
            # the last letters remain one piece, because they may begin the word
            whole = before + text
            cut = max(0, len(whole) - len(_FINAL))
            self._held += [whole[:cut], whole[cut:]] if cut else [whole]
            return
        whole = "".join(self._held) + before + text
        found += len(whole) - len(before + text)
        self._held = []
        self._emit_thought(whole[len(_ANALYSIS) : found])
        self._end_thought()
        self._buffer = whole[found + len(_FINAL) :]
        self._read(final=final)

    def _rest_to_read_again(self) -> str | None:
        """Return the undecided text if its expected tag did not come, None without any."""
        held = "".join(self._held)
        match self._mode:
            case _Mode.BARE:
                self._mode = _Mode.TEXT
            case _Mode.UNDECIDED:
                self._mode, self._may_begin_within_line = _Mode.TEXT, False
            case _Mode.THOUGHT if self._end is not None and self._readings < _MOST_READINGS:
                self._readings += 1
                first, last = self._end
                self._emit_thought(held[:first])
                held = held[last:]
                self._end_thought()
            case _:
                return None
        self._held = []
        return held

    # text

    def _take(self, text: str) -> None:
        if not text:
            return
        match self._mode:
            case _Mode.TEXT:
                self._lines.take(text)
                self._write(text)
            case _Mode.THOUGHT:
                self._inner.take(text)
                self._think(text)
            case _Mode.UNDECIDED:
                self._later_line = self._later_line or "\n" in text
                self._inner.take(text)
                self._held.append(text)
            case _Mode.HEADER:
                self._held.append(text)
                if sum(map(len, self._held)) > _LONGEST_HEADER:
                    self._release()
            case _Mode.BARE:
                raise AssertionError("bare channels are read by themselves")

    def _release(self) -> None:
        """Add the undecided text to the answer."""
        held, self._held, self._mode = "".join(self._held), [], _Mode.TEXT
        self._take(held)

    def _write(self, text: str) -> None:
        """Add text to the answer."""
        if self._stops:
            self._stops += text
            if not text.strip():
                return
            text, self._stops = self._stops, ""
        if self._blank is not None:
            self._blank += text
            words = self._blank.lstrip()
            if not words:
                return
            # the first line's indentation belongs to the answer
            _, newline, indent = self._blank[: -len(words)].rpartition("\n")
            text = (indent if newline else "") + words
            if self._answer and not self._answer[-1].endswith("\n"):
                text = "\n" + text
            self._blank = None
        self._answer.append(text)
        self._pieces.append((Kind.ANSWER, text))

    def _think(self, text: str) -> None:
        """Add text to the thought, or to the undecided text after a possible end."""
        if self._end is None:
            self._emit_thought(text)
        else:
            self._held.append(text)

    def _emit_thought(self, text: str) -> None:
        if text:
            self._pieces.append((Kind.THOUGHT, text))

    # tags

    def _take_tag(self, tag: re.Match[str], *, ends_line: bool) -> None:
        after = tag.string[tag.end() : tag.end() + 1]
        match self._mode:
            case _Mode.HEADER if tag["header"]:
                self._held.append(tag[0])
            case _Mode.HEADER if tag["message"]:
                self._end_header()
            case _Mode.HEADER:
                self._release()
                self._take_tag_in_text(tag, after, ends_line=ends_line)
            case _Mode.TEXT:
                self._take_tag_in_text(tag, after, ends_line=ends_line)
            case _Mode.THOUGHT if self._is_end(tag):
                self._take_end(tag, after, ends_line=ends_line)
            case _Mode.UNDECIDED if self._is_end(tag) and not self._is_word(after, ends_line=ends_line):
                if self._later_line:
                    self._emit_thought("".join(self._held[1:]))
                    self._held = []
                    self._end_thought()
                else:
                    self._held.append(tag[0])
                    self._release()
            case _:
                self._take(tag[0])

    def _take_tag_in_text(self, tag: re.Match[str], after: str, *, ends_line: bool) -> None:
        lines = self._lines
        if tag["stop"]:
            if not lines.closes_fence:  # after a closing fence it would keep the fence open
                lines.take(tag[0])
                self._stops += tag[0]
        elif _is_own(lines, after):
            self._take(tag[0])
        elif lines.is_program or not self._take_special(tag, ends_line=ends_line):
            self._own_tags += lines.begins and bool(tag["begin"] or (tag["think"] and not tag["ends"]))
            self._take(tag[0])

    def _take_special(self, tag: re.Match[str], *, ends_line: bool) -> bool:
        """Process a tag in prose; return False if it is part of the answer."""
        lines = self._lines
        channel = self._first_word() if tag["message"] else ""
        if tag["header"] and (self._stops or lines.begins or not lines.is_line_of_code):
            self._mode, self._held = _Mode.HEADER, [tag[0]]
        elif channel == _FINAL_CHANNEL:
            self._retract()
        elif channel in _THOUGHT_CHANNELS:
            self._retract()
            self._begin_thought("channel")
        elif tag["finish"] or (tag["think"] and tag["ends"]):
            return self._take_closing(ends_line=ends_line)
        elif tag["begin"] or (tag["think"] and not _is_component(tag)):
            return self._take_opening("finish" if tag["begin"] else "think", tag[0])
        elif tag["leading"] and not tag["leading_ends"]:
            return self._take_leading(tag["name"].lower(), tag[0], ends_line=ends_line)
        else:
            return bool(tag["mark"])
        return True

    def _take_opening(self, ended_by: str, tag: str) -> bool:
        """Begin a thought if the place allows one; return False otherwise."""
        lines = self._lines
        if lines.begins and not lines.is_line_of_code:
            self._begin_thought(ended_by)
            return True
        after_words = lines.last.isspace() or lines.ends_words
        if self._may_begin_within_line and after_words and not lines.is_line_of_code:
            self._begin_undecided(ended_by, tag)
            # a mention of a tag follows a space
            self._later_line = lines.ends_sentence and not lines.last.isspace()
            return True
        return False

    def _take_leading(self, name: str, tag: str, *, ends_line: bool) -> bool:
        """Begin a thought at a tag with an ordinary name, which counts only before the answer."""
        lines = self._lines
        if lines.is_blank and not any(map(str.strip, self._answer)):
            self._begin_thought(name)
            return True
        if self._may_begin_within_line and lines.begins and ends_line and lines.is_preamble:
            self._begin_undecided(name, tag)
            return True
        return False

    def _take_closing(self, *, ends_line: bool) -> bool:
        """End a thought without an opening tag; return False if the tag belongs to the answer."""
        lines = self._lines
        if self._own_tags:
            self._own_tags -= 1
            return False
        if lines.begins:
            ends = ends_line if self._had_tag else lines.is_empty or not lines.is_line_of_code
        elif self._had_tag or lines.is_line_of_code:
            ends = False
        else:
            ends = lines.closes_fence or lines.ends_words or (ends_line and lines.ends_sentence)
        if ends:
            text = "".join(self._answer[self._since_thought :])
            self._retract()
            self._retracted = text if text.strip() else self._retracted
        return ends

    def _first_word(self) -> str:
        """Return the answer if it is a single word so far."""
        text = ""
        for piece in self._answer:
            text += piece
            if len(text) > _LONGEST_WORD:
                return ""
        return text.strip()

    def _begin_undecided(self, ended_by: str, tag: str) -> None:
        self._begin_thought(ended_by)
        self._mode, self._held, self._later_line, self._had_tag = _Mode.UNDECIDED, [tag], False, False

    def _begin_thought(self, ended_by: str) -> None:
        self._had_tag = True
        self._retracted = ""
        self._mode, self._ended_by = _Mode.THOUGHT, ended_by
        self._inner, self._end, self._held = AnswerLines(), None, []

    def _is_end(self, tag: re.Match[str]) -> bool:
        match self._ended_by:
            case "think":
                return bool(tag["think"] and tag["ends"])
            case "finish":
                return bool(tag["finish"])
            case "channel":
                return bool(tag["stop"] or tag["header"])
            case name:
                return bool(tag["leading"] and tag["leading_ends"] and tag["name"].lower() == name)

    def _take_end(self, tag: re.Match[str], after: str, *, ends_line: bool) -> None:
        """Process a possible end tag: certain outside code, otherwise provisional."""
        if self._ended_by in ("channel", "finish") or not _is_own(self._inner, after):
            self._emit_thought("".join(self._held))
            self._end_thought()
            if tag["header"]:
                self._mode, self._held = _Mode.HEADER, [tag[0]]
            return
        if self._inner.is_fenced and after not in (*_CONTINUING,) and not self._is_own_line:
            first = sum(map(len, self._held))
            self._end = (first, first + len(tag[0]))
            self._is_own_line = self._inner.begins and ends_line
        self._inner.take(tag[0])
        self._think(tag[0])

    def _is_word(self, after: str, *, ends_line: bool) -> bool:
        """Tell whether a closing tag is a word within a sentence."""
        inner = self._inner
        within = inner.last.isspace() and not inner.begins and not ends_line
        return within or _is_own(inner, after)

    def _end_thought(self) -> None:
        self._mode, self._held, self._end, self._is_own_line = _Mode.TEXT, [], None, False
        self._lines.begin_text()
        self._own_tags = 0
        self._blank = ""
        self._since_thought = len(self._answer)

    def _end_header(self) -> None:
        channel = _CHANNEL.search("".join(self._held))
        name = channel[1].lower() if channel else ""
        if name in _THOUGHT_CHANNELS:
            self._begin_thought("channel")
        elif name:
            self._retract()
        else:
            self._end_thought()

    def _retract(self) -> None:
        """Turn the answer since the last thought into a thought: its opening tag was omitted."""
        text = "".join(self._answer[self._since_thought :])
        del self._answer[self._since_thought :]
        self._stops = ""
        if text:
            self._pieces.append((Kind.RETRACTION, text))
        self._end_thought()


def _is_component(tag: re.Match[str]) -> bool:
    """Tell whether an opening tag is a user-interface element, not a thought."""
    return bool((tag["attributes"] or "").strip()) and not tag["word"].islower()


def _is_own(lines: AnswerLines, after: str) -> bool:
    """Tell whether a tag belongs to the text: in code, or quoted."""
    quoted = bool(lines.last) and lines.last in _QUOTES and bool(after) and after in _UNQUOTES
    return lines.is_code or quoted


def _next_tag(text: str, at: int) -> re.Match[str] | None:
    starts = _TAG_START.finditer(text, at)
    return next((tag for start in starts if (tag := _TAG.match(text, start.start()))), None)
