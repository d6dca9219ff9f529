"""Search program if ripgrep is not installed: ``python -I -S search_child.py REQUEST``.

The request is a JSON file. Each matching line is printed as ``FILE:LINE:COLUMN``, with the file's index in
the request. An alarm signal ends the program, since an expression may run forever and nothing else stops it.
It imports nothing from this package, except the patterns of secrets for a search for secrets.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import sys
from functools import partial
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
WRITTEN_AT_ONCE = 1 << 16
TOLD_AFTER = 50
"""Searched files after which their number is printed, as ``+NUMBER``."""
LOOKS_FAR = re.compile(r"\(\?(?![:P]|[aiLmsux]+[:)])|\\[AZ]|[*+?}]\+")
"""Parts of an expression whose match in a line may differ from that in the whole text."""
CUT_SHORT = 3
"""Exit status if a worker did not finish."""


def main() -> None:
    """Search the files of the request."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 pathlib takes as long as all of this
        request = json.load(file)
    os.chdir(request["root"])
    workers = request["workers"]
    for worker in range(1, workers):
        if os.fork() == 0:
            _search(request, worker)
            os._exit(0)
    _search(request, 0)
    ended = [os.wait()[1] for _ in range(1, workers)]
    sys.exit(CUT_SHORT if any(ended) else 0)


def _search(request: dict[str, Any], worker: int) -> None:
    signal.alarm(request["seconds"])
    pattern = compile_pattern(
        request["pattern"], literal=request["literal"], any_case=request["any_case"], word=request["word"]
    )
    whole = request["literal"] or not LOOKS_FAR.search(request["pattern"])
    find: Callable[[str], Iterable[tuple[int, int]]] = partial(
        matching_lines, pattern, most=request["most"], whole=whole
    )
    if request["secrets"]:
        sys.path[:] = request["secrets"]
        find = _first_if_secret
    waiting: list[str] = []
    size = done = 0
    for index in range(worker, len(request["files"]), request["workers"]):
        text = _read(request["files"][index], request["largest"])
        found = list(find(text)) if text else []
        if found:
            waiting += [f"{index}:{line}:{column}\n" for line, column in found]
            size += len(found)
        done += 1
        if size > WRITTEN_AT_ONCE // 20 or done == TOLD_AFTER:
            _write([*waiting, f"+{done}\n"])
            waiting.clear()
            size = done = 0
    _write([*waiting, f"+{done}\n"])


def _first_if_secret(text: str) -> list[tuple[int, int]]:
    from tideate_core.mentions import secret_in

    return [(1, 1)] if secret_in(text) else []


def _write(lines: list[str]) -> None:
    # short writes, each in one call: the lines of two workers do not mix
    for start in range(0, len(lines), 100):
        os.write(1, "".join(lines[start : start + 100]).encode())
    lines.clear()


def _read(path: str, largest: int) -> str:
    """Return a file's text; empty if it is binary, too large, a link or missing."""
    try:
        descriptor = os.open(path, FLAGS)
    except OSError:
        return ""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > largest:
            return ""
        data = os.read(descriptor, found.st_size + 1)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return "" if b"\0" in data else data.replace(b"\r\n", b"\n").decode("utf-8", "replace")


def compile_pattern(pattern: str, *, literal: bool, any_case: bool, word: bool = False) -> re.Pattern[str]:
    """Compile an expression to search for in lines.

    :param word: match whole words only: no letter, digit or `_` beside the match.
    :raises re.error: the expression is invalid.
    """
    expression = re.escape(pattern) if literal else pattern
    flags = re.MULTILINE | (re.IGNORECASE if any_case else 0)
    if not word:
        return re.compile(expression, flags)
    re.compile(expression, flags)  # alone first: it must not close the group below
    return re.compile(rf"(?<!\w)(?:{expression})(?!\w)", flags)


def matching_lines(
    pattern: re.Pattern[str], text: str, *, most: int, whole: bool = True
) -> Iterator[tuple[int, int]]:
    """Yield number and column (both from 1) of the lines that match.

    Each line is matched by itself.

    :param most: maximum number of lines.
    :param whole: search the text as a whole, which is fast; not for expressions found by `LOOKS_FAR`.
    """
    search: Callable[..., re.Match[str] | None] = pattern.search
    if not whole:
        alone = ((number, search(line)) for number, line in enumerate(text.split("\n"), 1))
        yield from islice(((number, found.start() + 1) for number, found in alone if found), most)
        return
    number, at = 1, 0
    while most > 0 and (found := search(text, at)) is not None:
        number += text.count("\n", at, found.start())
        start = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        inside = search(text[start:end])
        if inside is not None:
            yield number, inside.start() + 1
            most -= 1
        if end >= len(text):
            return
        at, number = end + 1, number + 1


if __name__ == "__main__":
    main()
