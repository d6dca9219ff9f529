"""ruamel.yaml's parser with the parts exchanged that take most of its time; what it reads is the same."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import FileMark
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader
from ruamel.yaml.scanner import Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["events_of"]


def events_of(text: str) -> Iterator[Any]:
    """Return the events of a text.

    :raises YAMLError: from where it is no YAML.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Reader, yaml.Scanner, yaml.Parser = _Reader, _Scanner, _Parser
    events: Iterator[Any] = yaml.parse(text)
    return events


class _Reader(Reader):
    """Moves by slices, for a text that is whole."""

    def forward(self, length: int = 1) -> None:
        start = self.pointer
        passed = self.buffer[start : start + length]
        # what is left of a text that ends too soon is the parser's to tell
        if len(passed) < length or "\r" in passed or "\ufeff" in passed:
            super().forward(length)
            return
        self.pointer += length
        self.index += length
        lines = passed.count("\n")
        if lines:
            self.line += lines
            self.column = length - passed.rindex("\n") - 1
        else:
            self.column += length

    def get_mark(self) -> Any:
        return FileMark(self.name, self.index, self.line, self.column)


class _Scanner(Scanner):
    """Looks for what may be a key only where there is something."""

    @cached_property
    def reader(self) -> Any:
        return self.loader.reader

    def check_token(self, *choices: Any) -> bool:
        while self.need_more_tokens():
            self.fetch_more_tokens()
        return bool(self.tokens) and (not choices or isinstance(self.tokens[0], choices))

    def need_more_tokens(self) -> bool:
        if self.done:
            return False
        if not self.tokens:
            return True
        if not self.possible_simple_keys:
            return False
        self.stale_possible_simple_keys()
        return bool(self.next_possible_simple_key() == self.tokens_taken)


class _Parser(Parser):
    @cached_property
    def scanner(self) -> Any:
        return self.loader.scanner
