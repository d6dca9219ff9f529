"""Real files to edit, from the installed packages; the same for the same seed."""

from __future__ import annotations

import random
import sysconfig
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARES: Final = {
    "py": 10,
    "pyi": 2,
    "lua": 3,
    "vim": 2,
    "md": 3,
    "c": 2,
    "h": 1,
    "json": 1,
    "js": 1,
    "toml": 1,
    "yaml": 1,
    "css": 1,
}
"""Kinds of files, and how often each is taken where there are enough of them."""
FEWEST, MOST = 15, 1_200
"""Lines of a file that is taken."""
LARGEST: Final = 60_000
"""Bytes of a file that is looked at."""

Style = Literal[
    "as it is", "CRLF", "tabs", "no last line end", "byte order mark", "trailing blanks", "typographic"
]
STYLES: Final[tuple[Style, ...]] = (
    "as it is",
    "as it is",
    "as it is",
    "CRLF",
    "tabs",
    "no last line end",
    "byte order mark",
    "trailing blanks",
    "typographic",
)
_TYPOGRAPHIC = str.maketrans({"'": "\u2019", '"': "\u201d", "-": "\u2013"})


@dataclass(frozen=True, slots=True)
class Source:
    """A file as lines, with its encoding and line ends."""

    path: str
    lines: tuple[str, ...]
    style: Style
    newline: str = "\n"
    last_line_end: bool = True
    mark: bool = False

    def bytes_of(self, lines: list[str] | tuple[str, ...]) -> bytes:
        """Return the file's bytes with other lines."""
        text = self.newline.join(lines) + (self.newline if self.last_line_end else "")
        return (b"\xef\xbb\xbf" if self.mark else b"") + text.encode()


def sources(seed: int) -> Iterator[Source]:
    """Yield files without end, each in one of the styles, by their shares."""
    rng = random.Random(seed)
    root = Path(sysconfig.get_path("purelib"))
    pools = {kind: _pool(root, kind, rng) for kind in SHARES}
    kinds = [kind for kind, share in SHARES.items() for _ in range(share) if pools[kind]]
    for number in count():
        pool = pools[kinds[number % len(kinds)]]
        path, lines = pool[number // len(kinds) % len(pool)]
        yield _styled(Source(path, lines, "as it is"), rng)


def _pool(root: Path, kind: str, rng: random.Random) -> list[tuple[str, tuple[str, ...]]]:
    """Return up to 60 readable files of a kind, shuffled."""
    # not what the project's own tests put there, and nothing compiled meanwhile: the names alone decide
    paths = sorted(path for path in root.rglob(f"*.{kind}") if "tideate" not in path.parts)
    rng.shuffle(paths)
    found: list[tuple[str, tuple[str, ...]]] = []
    for path in paths[:400]:
        lines = _lines(path)
        if lines is not None:
            found.append((path.relative_to(root).as_posix(), lines))
        if len(found) == 60:
            break
    return found


def _lines(path: Path) -> tuple[str, ...] | None:
    data = path.read_bytes()
    if len(data) > LARGEST or b"\0" in data or b"\r" in data or data.startswith(b"\xef\xbb\xbf"):
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    lines = tuple(text.removesuffix("\n").split("\n"))
    return lines if FEWEST <= len(lines) <= MOST else None


def _styled(source: Source, rng: random.Random) -> Source:
    style = rng.choice(STYLES)
    lines = source.lines
    if style == "tabs":
        if any("\t" in line for line in lines):
            return source
        lines = tuple(_tabbed(line) for line in lines)
    elif style == "trailing blanks":
        lines = tuple(line + rng.choice(("", "", " ", "  ", "\t")) if line else line for line in lines)
    elif style == "typographic":
        lines = tuple(line.translate(_TYPOGRAPHIC) if rng.random() < 0.2 else line for line in lines)
    return replace(
        source,
        lines=lines,
        style=style,
        newline="\r\n" if style == "CRLF" else "\n",
        last_line_end=style != "no last line end",
        mark=style == "byte order mark",
    )


def _tabbed(line: str) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return "\t" * (spaces // 4) + " " * (spaces % 4) + line[spaces:]
