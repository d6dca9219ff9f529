"""Tool calls as events: their start and end, with the call summarized in one line."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Protocol

from tideate_core.engine.events import EventName, error_fields
from tideate_core.workflows import CallReport, stopwatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHOWN: Final = 2_000
"""Characters of a tool call's arguments and result in events."""
LONGEST_VALUE: Final = 60
MOST_RANGES: Final = 3
LONGEST: Final = 160
"""Characters of a summary."""

Arguments = dict[str, Any]
_numbers: Final = count(1)


class EmitOfStep(Protocol):
    """Function that sends an event of a step."""

    def __call__(self, event: EventName, /, **data: Any) -> None: ...


class CallEvents:
    """Events of one tool call, until `end`; all have the same number as `call`.

    :param summary: the call in one line; by default, made from its arguments.
    """

    def __init__(
        self, emit: EmitOfStep, tool: str, arguments: Mapping[str, Any], *, server: str, summary: str = ""
    ) -> None:
        self.summary = summary
        self.result = ""
        """The result, whose beginning the last event shows."""
        self.more: dict[str, Any] = {}
        """Further fields of progress and end."""
        self._emit = emit
        self._begun = time.monotonic()
        self._place = {"call": next(_numbers), "server": server, "tool": tool}
        self._short = summarize_call(server, tool, {} if summary else arguments)
        emit(EventName.TOOL_CALLED, **self._fields, arguments=_shown(arguments))

    @property
    def _fields(self) -> dict[str, Any]:
        return {**self._place, "summary": _cut(f"{self._short} {self.summary}".strip(), LONGEST)}

    def progress(self, progress: float | None = None, total: float | None = None, message: str = "") -> None:
        """Report progress, or a new summary."""
        told: dict[str, Any] = {} if progress is None else {"progress": progress, "total": total}
        self._emit(EventName.TOOL_PROGRESS, **self._fields, **told, message=message, **self.more)

    def end(self, *, failed: str = "") -> None:
        """Report the end.

        :param failed: the error; empty after a success.
        """
        took = round((time.monotonic() - self._begun) * 1000)
        ending: dict[str, Any] = {"ok": not failed, **({"error": _head(failed)} if failed else {})}
        result = {"result": _head(self.result)} if self.result else {}
        self._emit(
            EventName.TOOL_COMPLETED, **self._fields, duration_ms=took, **result, **self.more, **ending
        )


@contextmanager
def report_call(
    emit: EmitOfStep, tool: str, arguments: Mapping[str, Any], *, server: str = ""
) -> Iterator[CallReport]:
    """Report the begin and the end of a tool call; exceptions are reported and raised.

    Both events have the same number as `call`, and a `summary` of one line.

    :param server: the tool's server; empty for built-in tools.
    """
    summary = summarize_call(server, tool, arguments)
    place = {"call": next(_numbers), "server": server, "tool": tool, "summary": summary}
    emit(EventName.TOOL_CALLED, **place, arguments=_shown(arguments))
    report, ending = CallReport(), dict[str, Any](ok=False)
    with stopwatch() as watch:
        try:
            yield report
            ending = {"ok": not report.failed, **({"error": report.failed} if report.failed else {})}
        except Exception as error:
            ending |= error_fields(error)
            raise
        finally:
            size = {} if report.size is None else {"size": report.size}
            result = {"result": _head(report.result)} if report.result else {}
            took = {"duration_ms": watch.milliseconds}  # a question's time is the person's
            emit(EventName.TOOL_COMPLETED, **place, **took, **size, **result, **ending)


def _shown(arguments: Mapping[str, Any]) -> Any:
    text = json.dumps(arguments, ensure_ascii=False)
    return dict(arguments) if len(text) <= SHOWN else _head(text)


def _head(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} … ({len(text)} characters)"


def summarize_call(server: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a tool call in one line: `read_file src/a.py 10-40`, `search "def total" in *.py`.

    :param arguments: unchecked arguments from a model.
    """
    left = {key: value for key, value in arguments.items() if value not in (None, "", False)}
    parts = [
        f"{server}/{tool}" if server else tool,
        *_taken(left, '"{}"', "pattern", "query", "title"),
        *_taken(left, "{}", "path"),
        _files(left),
        _lines(left),
        *_taken(left, "{}", "revision", "name", "symbol"),
        *_taken(left, "in {}", "glob"),
        *_taken(left, "→ {}", "to", "new_name"),
        _amount(left),
    ]
    parts += [_named(key, value) for key, value in left.items()]
    return _cut(" ".join(" ".join(filter(None, parts)).split()), LONGEST)


def _taken(left: Arguments, template: str, *keys: str) -> list[str]:
    """Remove arguments, and return each as its words."""
    return [template.format(_value(left.pop(key))) for key in keys if key in left]


def _files(left: Arguments) -> str:
    """Return the paths in a list of files with options."""
    files = left.get("files")
    if not isinstance(files, list) or not all(isinstance(one, dict) and "path" in one for one in files):
        return ""
    return ", ".join(_value(one["path"]) for one in left.pop("files"))


def _lines(left: Arguments) -> str:
    """Return the requested lines; empty if all are."""
    if isinstance(left.get("ranges"), list):
        ranges = left.pop("ranges")
        ends = (one if isinstance(one, list) else [one] for one in ranges[:MOST_RANGES])
        more = len(ranges) - MOST_RANGES
        return ",".join("-".join(map(_value, one)) for one in ends) + (
            f" and {more} more" if more > 0 else ""
        )
    if "line" in left and "end_line" not in left:
        return f"line {_value(left.pop('line'))}"
    first = next((left.pop(key) for key in ("first", "line") if key in left), None)
    last = next((left.pop(key) for key in ("last", "end_line") if key in left), None)
    if last is not None:
        return f"{_value(first or 1)}-{_value(last)}"
    return "" if first in (None, 1) else f"{_value(first)}-"


def _amount(left: Arguments) -> str:
    """Return the size of a change instead of its text."""
    words = []
    if isinstance(left.get("edits"), list):
        count = len(left.pop("edits"))
        words.append(f"({count} edit{'' if count == 1 else 's'})")
    if isinstance(left.get("text"), str):
        words.append(f"({len(left.pop('text'))} characters)")
    return " ".join(words)


def _named(key: str, value: Any) -> str:
    return _cut(key, LONGEST_VALUE) if value is True else f"{_cut(key, LONGEST_VALUE)}={_value(value)}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _cut(" ".join(text[: 10 * LONGEST_VALUE].split()), LONGEST_VALUE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
