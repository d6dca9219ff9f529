"""Reads YAML 1.2 with the place of every value: what JSON can say, aliases and merged mappings included.

The events of ruamel.yaml's parser are put together here, not by its composer: so depth, aliases and time are
bounded, keys given twice are told with their place, and no value is of a kind that a run could not keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tideate_core.util.deadline import Deadline
from tideate_core.workflows.json_reader import DEEPEST, text_problem
from tideate_core.workflows.limits import LIMITS
from tideate_core.workflows.positions import Located, Problem
from tideate_core.workflows.yaml_scalars import is_of_tag, resolved
from tideate_core.workflows.yaml_words import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HEAVIEST", "PARSER_SLIPS", "read_yaml"]

HEAVIEST: Final = 300_000
"""Values, and 32 characters of a text each, if every alias were written out."""
MOST_SECONDS: Final = LIMITS.read_seconds

PARSER_SLIPS: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What ruamel.yaml raises besides its own errors, as for the escape of a character that does not exist."""

STANDARD: Final = "tag:yaml.org,2002:"
TAGS: Final = frozenset({"str", "int", "float", "bool", "null", "map", "seq"})


class _Stop(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True)
class _Open:
    """A collection that is being read; of a mapping also the key whose value comes next."""

    start: int
    anchor: str | None
    items: dict[str, Located] | list[Located]
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    merged: list[Located] = field(default_factory=list)
    key: str | None = None
    ignored: int = 0
    """A second value of a key, told already, is read and left out."""


def read_yaml(text: str) -> tuple[Located | None, list[Problem]]:
    """Read a text; what it says is None if it is no YAML, or nothing."""
    # here, because few processes read YAML
    from ruamel.yaml.error import YAMLError

    from tideate_core.workflows.yaml_scanner import events_of

    reader = _Reader(text)
    try:
        return reader.document(events_of(text)), reader.problems
    except _Stop as stop:
        return None, [*reader.problems, stop.problem]
    except YAMLError as error:
        return None, [*reader.problems, explained(error, text)]
    except PARSER_SLIPS:
        words = "YAML's parser cannot read what follows here"
        return None, [
            *reader.problems,
            Problem(reader.reached, reader.reached, words, "write it in another way"),
        ]


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._anchors: dict[str, Located] = {}
        self._open: list[_Open] = []
        self._pending: set[str] = set()
        self._root: Located | None = None
        self.problems: list[Problem] = []
        self.reached = 0

    def document(self, events: Iterator[Any]) -> Located:
        deadline = Deadline(MOST_SECONDS)
        for event in events:
            if deadline.is_over:
                self._stop(event, "reading this takes too long", "make it smaller")
            getattr(self, HANDLERS[type(event).__name__])(event)
            self.reached = event.end_mark.index
        if self._root is None:
            hint = "a workflow has at least one step, in `steps`"
            raise _Stop(Problem(0, 0, "the file is empty", hint))
        return self._root

    def _nothing(self, event: Any) -> None:
        """Of no meaning here: where stream and document begin and end."""

    def _document(self, event: Any) -> None:
        if self._root is not None:
            self._stop(event, "a second document begins here", "a file has one workflow: remove the `---`")

    def _scalar(self, event: Any) -> None:
        start = event.start_mark.index
        end = start + len(self._text[start : event.end_mark.index].rstrip())
        value = self._value_of(event, start, end)
        weight = 1 + len(value) // 32 if isinstance(value, str) else 1
        self._add(Located(value, start, end, weight=weight), event.anchor, event)

    def _alias(self, event: Any) -> None:
        name = event.anchor
        start, end = event.start_mark.index, event.end_mark.index
        target = self._anchors.get(name)
        if target is None and name in self._pending:
            self._stop(event, f"`*{name}` stands for what it is itself a part of", "write it out")
        if target is None:
            hint = f"write `&{name}` before the value that it should stand for"
            self._stop(event, f"`*{name}` stands for nothing above", hint)
        self._add(replace(target, start=start, end=end), None, event)

    def _begin(self, event: Any) -> None:
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.items, dict) and top.key is None:
            self._no_key(event)
        if len(self._open) >= DEEPEST:
            self._too_deep(event)
        self._check_tag(event)
        is_mapping = type(event).__name__ == "MappingStartEvent"
        self._open.append(_Open(event.start_mark.index, event.anchor, {} if is_mapping else []))
        if event.anchor:
            self._pending.add(event.anchor)
            self._anchors.pop(event.anchor, None)

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        end = self._last(done, event.end_mark.index)
        if isinstance(done.items, dict):
            self._merge(done, done.items)
            value: Any = {key: item.value for key, item in done.items.items()}
            parts = list(done.items.values())
        else:
            value = [item.value for item in done.items]
            parts = done.items
        weight = 1 + sum(part.weight for part in parts)
        depth = 1 + max((part.depth for part in parts), default=0)
        whole = Located(value, done.start, end, done.items, done.keys, weight, depth)
        self._pending.discard(done.anchor or "")
        self._add(whole, done.anchor, event)

    def _last(self, done: _Open, end: int) -> int:
        # ruamel ends a block where the next one begins
        return done.start + len(self._text[done.start : end].rstrip())

    def _add(self, located: Located, anchor: str | None, event: Any) -> None:
        if anchor:
            self._anchors[anchor] = located
        if located.weight > HEAVIEST:
            self._stop(event, "there is too much in this file", "write less, or fewer `*aliases`")
        if located.depth > DEEPEST:
            self._too_deep(event)
        if not self._open:
            self._root = located
            return
        top = self._open[-1]
        if isinstance(top.items, list):
            top.items.append(located)
        elif top.key is None:
            self._take_key(top, located, event)
        else:
            self._take_value(top, top.items, located)

    def _take_key(self, top: _Open, located: Located, event: Any) -> None:
        key = located.value
        if isinstance(key, dict | list):
            self._no_key(event)
        if not isinstance(key, str):
            written = self._text[located.start : located.end]
            message = f"the key {written or 'before this `:`'} is no text"
            self.problems.append(Problem(located.start, located.end, message, "put it in quotes"))
            key = written
        if key in top.keys:
            message = f"the key {key!r} is given twice"
            self.problems.append(Problem(located.start, located.end, message, "keep one of them"))
            top.ignored += 1
        elif key != "<<":
            top.keys[key] = located.start, located.end
        top.key = key

    def _take_value(self, top: _Open, items: dict[str, Located], located: Located) -> None:
        key, top.key = top.key or "", None
        if top.ignored:
            top.ignored -= 1
        elif key == "<<":
            top.merged.append(located)
        else:
            if located.start == located.end:
                # the parser has nothing at all begin where the next thing does
                located = replace(located, start=top.keys[key][0], end=top.keys[key][1])
            items[key] = located

    def _merge(self, done: _Open, items: dict[str, Located]) -> None:
        """Put in what `<<` gives; what the mapping says itself wins."""
        for merged in done.merged:
            for source in merged.items if isinstance(merged.items, list) else [merged]:
                if not isinstance(source.items, dict):
                    message = "`<<` is for a mapping, or a list of them"
                    self.problems.append(Problem(merged.start, merged.end, message, "write `<<: *name`"))
                    continue
                for key, item in source.items.items():
                    if key not in items:
                        items[key], done.keys[key] = item, source.keys[key]

    def _value_of(self, event: Any, start: int, end: int) -> Any:
        tag = self._check_tag(event)
        text: str = event.value
        plain = event.style is None and tag != "str"
        if plain and tag is None:
            return self._plain(text, start, end)
        if tag not in {None, "str"}:
            value = self._plain(text, start, end)
            if not is_of_tag(value, tag):
                self.problems.append(Problem(start, end, f"{text!r} is no `!!{tag}`", "remove the tag"))
            return value
        if problem := text_problem(text):
            self.problems.append(Problem(start, end, problem, "write the character itself"))
            return text.encode(errors="replace").decode()
        return text

    def _plain(self, text: str, start: int, end: int) -> Any:
        value, problem, hint = resolved(text)
        if problem:
            self.problems.append(Problem(start, end, problem, hint))
        return value

    def _check_tag(self, event: Any) -> str | None:
        """Return a standard tag's name; any other one is a mistake."""
        tag = None if event.tag is None else str(event.tag)
        if tag is None or tag == "!":
            return "str" if tag else None
        name = tag.removeprefix(STANDARD)
        if name == tag or name not in TAGS:
            start, end = event.start_mark.index, event.start_mark.index + 1
            message = f"the tag {tag.replace(STANDARD, '!!')} is not used in a workflow"
            self.problems.append(Problem(start, end, message, "remove it; values are what JSON has"))
            return "str"
        return name

    def _no_key(self, event: Any) -> NoReturn:
        at = event.start_mark.index
        if self._text.startswith("{", at) and self._text.startswith("{{", at - 1 if at else 0):
            hint = "put the whole text in quotes"
            raise _Stop(Problem(at - 1, at + 1, "a text that begins with `{{` is a mapping to YAML", hint))
        self._stop(event, "a list or mapping cannot be a key", "a key is a text")

    def _too_deep(self, event: Any) -> NoReturn:
        self._stop(event, f"lists and mappings are more than {DEEPEST} levels deep", "keep them flatter")

    def _stop(self, event: Any, message: str, hint: str) -> NoReturn:
        raise _Stop(Problem(event.start_mark.index, event.end_mark.index, message, hint))


HANDLERS: Final = {
    "StreamStartEvent": "_nothing",
    "StreamEndEvent": "_nothing",
    "DocumentStartEvent": "_document",
    "DocumentEndEvent": "_nothing",
    "ScalarEvent": "_scalar",
    "AliasEvent": "_alias",
    "SequenceStartEvent": "_begin",
    "SequenceEndEvent": "_end",
    "MappingStartEvent": "_begin",
    "MappingEndEvent": "_end",
}
