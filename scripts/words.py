"""Check of headlines and retired words.

`python -m scripts.words [PATH…]` lists every violation with its line, and a count for each rule. PATH is a
file or directory of this checkout; by default, Python, Lua and the documents. `scripts/words.md` has the
table of retired words.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
GLOSSARY: Final = ROOT / "docs" / "glossary.md"
WORDS: Final = ROOT / "scripts" / "words.md"
DOCUMENTS: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/")
CHECKED: Final = ("tideate_core", "lua", "plugin", "rplugin", "doc", *DOCUMENTS)
SUFFIXES: Final = frozenset({".py", ".lua", ".md", ".txt", ".workflow"})

QUESTION: Final = re.compile(r"(What|Where|Whether|Which|How|Who|When)\b", re.IGNORECASE)
"""First words that a docstring must not have."""

Where = Literal["everywhere", "prose", "names", "bare names", "documents"]


@dataclass(frozen=True, slots=True)
class Retired:
    """A row of the table: retired words and their replacement."""

    words: tuple[str, ...]
    instead: str
    where: str
    allowed: tuple[str, ...] = ()
    """Prefixes of paths, and phrases that may contain the word."""

    @property
    def rule(self) -> str:
        return f"retired word: {self.words[0]}"

    def pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(rf"(?<![\w/]){_expression(word)}" for word in self.words), re.IGNORECASE)

    def allows(self, path: str) -> bool:
        if self.where == "documents" and not path.startswith(DOCUMENTS):
            return True
        return any(path.startswith(each) for each in self.allowed if "/" in each)

    def without_allowed(self, text: str) -> str:
        """Blank out the allowed phrases of a text; its length stays."""
        for phrase in (each for each in self.allowed if "/" not in each):
            text = re.sub(_expression(phrase), _blank, text, flags=re.IGNORECASE)
        return text


@dataclass(frozen=True, slots=True)
class Piece:
    """Prose or a name in a file."""

    line: int
    text: str
    kind: Literal["prose", "name"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule."""

    path: str
    line: int
    rule: str
    message: str


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"\S", " ", found[0])


BETWEEN: Final = r"[\s_`-]+"
SOME_WORDS: Final = rf"{BETWEEN}(?:(?!to\b)\w+{BETWEEN}){{0,2}}?"


def _expression(word: str) -> str:
    """Return the pattern of a word: `N` is a number; `…` is up to two words, or the rest of one."""
    if word.endswith("…"):
        return re.escape(word[:-1]) + r"[\w/.-]*"
    sides = [[re.escape(part) for part in side.split()] for side in word.split("…")]
    joined = SOME_WORDS.join(BETWEEN.join(side) for side in sides)
    return re.sub(r"\bN\b", r"\\d+", joined) + r"(?!\w)"


# the table


def retired_words(document: str) -> list[Retired]:
    """Read the rows of the table below the heading `Retired words`.

    :raises ValueError: a row has no words, or an unknown scope.
    """
    table = document.partition("## Retired words")[2]
    rows = [line.strip().strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    return [_retired([cell.strip() for cell in row]) for row in rows[2:]]


def _retired(cells: list[str]) -> Retired:
    words, instead, where, allowed = cells
    found = Retired(_quoted(words), instead, where, _quoted(allowed))
    if not found.words or where not in get_args(Where):
        raise ValueError(f"the row {' | '.join(cells)!r} cannot be read")
    return found


def _quoted(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`([^`]+)`", cell))


# texts and names of files


def pieces_of(path: str, text: str) -> list[Piece]:
    """Return the prose and the names of a file, including its own name.

    :param path: relative to the checkout.
    """
    readers = {".py": _of_python, ".lua": _of_lua}
    reader = readers.get(Path(path).suffix, _of_document)
    return [Piece(1, Path(path).stem, "name"), *reader(text)]


def _of_document(text: str) -> Iterator[Piece]:
    yield Piece(1, text, "prose")


@lru_cache(maxsize=1)
def _nodes_of(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text)))


def _of_python(text: str) -> Iterator[Piece]:
    for node in _nodes_of(text):
        match node:
            case ast.ClassDef(name=name, lineno=line) | ast.FunctionDef(name=name, lineno=line):
                yield Piece(line, name, "name")
            case ast.AsyncFunctionDef(name=name, lineno=line):
                yield Piece(line, name, "name")
            case ast.Constant(value=str(words), lineno=line):
                yield from _of_string(line, words)
    yield from _comments(_python_comments(text))


def _of_string(line: int, words: str) -> Iterator[Piece]:
    if re.fullmatch(r"--[a-z][\w-]*", words):
        yield Piece(line, words, "name")
    elif re.search(r"\s", words):  # a single word is a key
        yield Piece(line, words, "prose")


def _python_comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#! ")


LUA_NAME: Final = re.compile(r"\bfunction\s+([\w.:]+)|\b([\w.]+)\s*=\s*function\b")
LUA_TEXT: Final = re.compile(
    r"""(?P<comment>--.*)|'(?P<single>(?:\\.|[^'\\])*)'|"(?P<double>(?:\\.|[^"\\])*)\""""
)


def _of_lua(text: str) -> Iterator[Piece]:
    comments: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        for name in LUA_NAME.finditer(line):
            yield Piece(number, re.split(r"[.:]", name[1] or name[2])[-1], "name")
        for found in LUA_TEXT.finditer(line):
            if found["comment"]:
                comments.append((number, found["comment"].lstrip("-[ ")))
            else:
                yield from _of_string(number, found["single"] or found["double"] or "")
    yield from _comments(comments)


def _comments(lines: Iterable[tuple[int, str]]) -> Iterator[Piece]:
    """Join comments on adjacent lines: a phrase may continue on the next one."""
    block: list[tuple[int, str]] = []
    for number, text in lines:
        if block and number != block[-1][0] + 1:
            yield Piece(block[0][0], "\n".join(each for _, each in block), "prose")
            block = []
        block.append((number, text))
    if block:
        yield Piece(block[0][0], "\n".join(each for _, each in block), "prose")


# the rules


def words_in(path: str, pieces: Iterable[Piece], retired: Iterable[Retired]) -> Iterator[Violation]:
    """Yield every use of a retired word."""
    kept = list(pieces)
    names = "\n".join(spelled(piece.text) for piece in kept if piece.kind == "name")
    prose = "\0".join(piece.text for piece in kept if piece.kind == "prose")
    for row in retired:
        pattern = row.pattern()
        # skip the pieces of files without the word
        if row.allows(path) or not (pattern.search(prose) or pattern.search(names)):
            continue
        for piece in kept:
            for offset, word in _uses(row, pattern, piece):
                line = piece.line + piece.text.count("\n", 0, offset)
                yield Violation(path, line, row.rule, f"{word!r}; say {row.instead}")


def _uses(row: Retired, pattern: re.Pattern[str], piece: Piece) -> Iterator[tuple[int, str]]:
    if piece.kind == "name":
        name = spelled(piece.text)
        found = pattern.fullmatch(name) if row.where == "bare names" else pattern.search(name)
        if found and row.where not in ("prose", "documents"):
            yield 0, piece.text
    elif row.where in ("everywhere", "prose", "documents"):
        for found in pattern.finditer(row.without_allowed(piece.text)):
            yield found.start(), " ".join(found[0].split())


def spelled(name: str) -> str:
    """Split a name into words: `StepContext`, `_step_context`, `--step-context`."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_]+", " ", parts).strip()


def headlines_in(path: str, text: str) -> Iterator[Violation]:
    """Yield docstrings that begin with a question word, and a missing module docstring."""
    for node in _nodes_of(text):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            headline = ast.get_docstring(node) or ""
            if isinstance(node, ast.Module) and not headline:
                yield Violation(path, 1, "headline: missing", "a module needs a docstring")
            elif found := QUESTION.match(headline):
                line = node.body[0].lineno
                yield Violation(
                    path,
                    line,
                    "headline: question word",
                    f"begins with {found[0]!r}; use a noun phrase or an imperative",
                )


def check(path: str, text: str, retired: Iterable[Retired]) -> list[Violation]:
    """Return the violations of one file, by line."""
    found = list(words_in(path, pieces_of(path, text), retired))
    if path.endswith(".py") and path.startswith("tideate_core/"):
        found += headlines_in(path, text)
    return sorted(found, key=lambda each: (each.line, each.rule))


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files to check, without the table itself."""
    for path in paths:
        below = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (each for each in below if each.suffix in SUFFIXES and each.resolve() != WORDS)


def is_sorted(glossary: str) -> bool:
    """Tell whether the words of the glossary are in order."""
    words = re.findall(r"^- \*\*(.+?)\*\*", glossary, re.MULTILINE)
    return all(one.casefold() < other.casefold() for one, other in pairwise(words))


def main(words: list[str]) -> int:
    """Print violations and a count for each rule; return 0 if there are none."""
    paths = [Path(word).resolve() for word in words] or [ROOT / name for name in CHECKED]
    for path in paths:
        if not path.exists() or not path.is_relative_to(ROOT):
            sys.exit(f"{path} is not a file or directory of {ROOT}")
    retired = retired_words(WORDS.read_text("utf-8"))
    console = Console(stderr=True)
    counts: Counter[str] = Counter()
    for file in files(paths):
        for found in check(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"), retired):
            print(f"{found.path}:{found.line}: {found.rule}: {found.message}")
            counts[found.rule] += 1
    for rule, count in counts.most_common():
        console.print(f"{count:5} {rule}", highlight=False)
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
