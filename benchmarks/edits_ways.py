"""The ways in which models spoil edits, and which of them leave an edit that can still be applied."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from benchmarks.edits_forms import FORMS, Form, Hunk, Row
from benchmarks.edits_quoting import QUOTING

if TYPE_CHECKING:
    import random

    from benchmarks.edits_files import Source

Expected = Literal["applied", "refused"]

LEAST: Final = 12
"""Lines of a file of which a part can be told from the whole."""


@dataclass(slots=True)
class Edit:
    """Changes of one file, in its order, as rows of hunks."""

    source: Source
    hunks: list[Hunk]
    after: list[str]
    rng: random.Random
    expected: Expected = "applied"
    cut: bool = False
    left_out: int | None = None
    """Of a whole file: the line after which others are left out."""
    numbers: Literal["right", "wrong", "none"] = "right"
    whole: list[str] = field(default_factory=list)
    """The new text, for the form that writes it whole."""


Way: TypeAlias = Callable[[Edit], bool]
"""Spoils an edit; False where there is nothing to spoil in this way."""


def blank_lines(lines: list[str]) -> int:
    """Count the lines that have nothing but blanks."""
    return sum(not line.strip() for line in lines)


def _each(edit: Edit, change: Callable[[str], str]) -> bool:
    """Change the text of all rows; True if a searched one is another one then."""
    hit = False
    for hunk in edit.hunks:
        rows = [replace(row, text=change(row.text)) for row in hunk.rows]
        hit |= any(a != b and a.sign != "+" for a, b in zip(rows, hunk.rows, strict=True))
        hunk.rows = rows
    return hit


def as_it_is(edit: Edit) -> bool:
    """Nothing spoiled."""
    return True


def trailing_blanks(edit: Edit) -> bool:
    """Blanks at the ends of lines that the file does not have."""
    edit.whole = [line + edit.rng.choice(("", "", "", "  ")) for line in edit.whole]
    return _each(edit, lambda line: line + edit.rng.choice(("", " ", "   ", "\t")))


def no_trailing_blanks(edit: Edit) -> bool:
    """Without the blanks that the file has at the ends of its lines."""
    edit.whole = [line.rstrip() for line in edit.whole]
    return _each(edit, str.rstrip)


def less_indented(edit: Edit) -> bool:
    """Each hunk moved to the left as a whole."""
    hit = False
    for hunk in edit.hunks:
        least = min((_width(row.text) for row in hunk.rows if row.text.strip()), default=0)
        less = edit.rng.randint(1, least) if least else 0
        hunk.rows = [
            replace(row, text=row.text[less:] if row.text.strip() else row.text) for row in hunk.rows
        ]
        hit |= bool(less)
    return hit


def _width(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def more_indented(edit: Edit) -> bool:
    """All lines moved to the right."""
    more = (
        "\t" if any(line.startswith("\t") for line in edit.source.lines) else edit.rng.choice(("  ", "    "))
    )
    return _each(edit, lambda line: more + line if line.strip() else line)


def tabs(edit: Edit) -> bool:
    """Tabs where the file has four spaces."""
    if any("\t" in line for line in edit.source.lines):
        return False
    if any(_width(row.text) % 4 for hunk in edit.hunks for row in hunk.rows):
        return False
    return _each(edit, _with_tabs)


def _with_tabs(line: str) -> str:
    return "\t" * (_width(line) // 4) + line.lstrip(" ")


def spaces(edit: Edit) -> bool:
    """Four spaces where the file has tabs."""
    if edit.source.style != "tabs":
        return False
    return _each(edit, lambda line: line.replace("\t", "    "))


def typographic(edit: Edit) -> bool:
    """Quotes and hyphens as printers set them, in a file that has plain ones."""
    if edit.source.style == "typographic":
        return False
    table = str.maketrans({"'": "\u2019", '"': "\u201c", "-": "\u2011"})
    kept = set(edit.source.lines)
    edit.whole = [
        line.translate(table) if line in kept and edit.rng.random() < 0.3 else line for line in edit.whole
    ]
    # a hunk of which only the new lines are spoiled says another thing, and nobody can tell
    hit = False
    for hunk in edit.hunks:
        rows = [replace(row, text=row.text.translate(table)) for row in hunk.rows]
        spoiled = {
            char for row, was in zip(rows, hunk.rows, strict=True) if row.sign != "+" for char in was.text
        }
        wanted = {char for row in hunk.rows if row.sign == "+" for char in row.text} & set("'\"-")
        if not wanted <= spoiled:
            return False
        hit |= any(a != b and a.sign != "+" for a, b in zip(rows, hunk.rows, strict=True))
        hunk.rows = rows
    return hit


def plain_ascii(edit: Edit) -> bool:
    """Plain quotes and hyphens, in a file that has them as printers set them."""
    table = str.maketrans({"\u2019": "'", "\u201d": '"', "\u2013": "-", "\u201c": '"', "\u2018": "'"})
    for hunk in edit.hunks:
        old = {
            char for row in hunk.rows if row.sign != "+" for char in row.text if char in "\u2019\u201d\u2013"
        }
        new = {
            char for row in hunk.rows if row.sign == "+" for char in row.text if char in "\u2019\u201d\u2013"
        }
        if not new <= old:
            return False
    edit.whole = [line.translate(table) for line in edit.whole]
    return edit.source.style == "typographic" and _each(edit, lambda line: line.translate(table))


def missing_lines(edit: Edit) -> bool:
    """A line in the middle forgotten."""
    edit.expected = "refused"
    hunk = max(edit.hunks, key=lambda hunk: len(hunk.old))
    inner = [
        at
        for at, row in enumerate(hunk.rows)
        if row.sign != "+" and row.text.strip() and any(r.sign != "+" for r in hunk.rows[:at])
    ]
    inner = [at for at in inner if sum(row.sign != "+" for row in hunk.rows[at + 1 :])]
    if not inner:
        return False
    del hunk.rows[edit.rng.choice(inner)]
    edit.whole = edit.whole[: len(edit.whole) // 3]
    old, lines = hunk.old, list(edit.source.lines)
    if any(lines[at : at + len(old)] == old for at in range(len(lines))):
        return False  # one of several equal lines: the others are in the file, and nobody can tell
    # of a few lines nobody can tell whether the rest was to go
    few = len(edit.source.lines) - blank_lines(list(edit.source.lines)) < LEAST
    return (
        any(row.sign != " " for row in hunk.rows)
        and not few
        and len(edit.whole) > blank_lines(edit.whole) + 1
    )


def misremembered(edit: Edit) -> bool:
    """A line of the file with a word that is not there."""
    edit.expected = "refused"
    hunk = edit.rng.choice(edit.hunks)
    choices = [
        at for at, row in enumerate(hunk.rows) if row.sign != "+" and re.search("[A-Za-z]{4,}", row.text)
    ]
    if not choices:
        return False
    at = edit.rng.choice(choices)
    hunk.rows[at] = replace(
        hunk.rows[at], text=re.sub("[A-Za-z]{4,}", "mistaken", hunk.rows[at].text, count=1)
    )
    return True


def unevenly_indented(edit: Edit) -> bool:
    """One line indented in another way than its neighbours."""
    edit.expected = "refused"
    hunk = max(edit.hunks, key=lambda hunk: len(hunk.old))
    choices = [at for at, row in enumerate(hunk.rows) if row.sign != "+" and row.text.strip()]
    if len(choices) < 2:
        return False
    at = edit.rng.choice(choices)
    hunk.rows[at] = replace(hunk.rows[at], text=f"   {hunk.rows[at].text}")
    return True


def not_the_only_place(edit: Edit) -> bool:
    """Lines to search that stand in the file more than once."""
    edit.expected = "refused"
    return True


def wrong_order(edit: Edit) -> bool:
    """The last change first."""
    edit.hunks.reverse()
    return len(edit.hunks) > 1


def wrong_numbers(edit: Edit) -> bool:
    """Line numbers of a diff that are wrong."""
    edit.numbers = "wrong"
    return True


def no_numbers(edit: Edit) -> bool:
    """A diff without line numbers."""
    edit.numbers = "none"
    return True


def cut_off(edit: Edit) -> bool:
    """An answer that ends in the middle."""
    edit.expected, edit.cut = "refused", True
    return True


PLACEHOLDER: Final = "... rest of the code unchanged ..."


def _comment(path: str) -> str:
    kind = path.rpartition(".")[2]
    leads = {"c": "// ", "h": "// ", "js": "// ", "json": "// ", "lua": "-- ", "vim": '" '}
    if kind in {"md", "css"}:
        return f"<!-- {PLACEHOLDER} -->" if kind == "md" else f"/* {PLACEHOLDER} */"
    return leads.get(kind, "# ") + PLACEHOLDER


def left_out(edit: Edit) -> bool:
    """New lines with placeholders for others."""
    edit.expected = "refused"
    comment = _comment(edit.source.path)
    hunk = edit.rng.choice(edit.hunks)
    hunk.rows.insert(len(hunk.rows) // 2, Row("+", comment))
    edit.whole = [*edit.whole[: len(edit.whole) * 2 // 3], comment]
    return True


def quoted_with_gaps(edit: Edit) -> bool:
    """Search lines with placeholders for others."""
    edit.expected = "refused"
    hunk = max(edit.hunks, key=lambda hunk: len(hunk.rows))
    choices = [at for at, row in enumerate(hunk.rows) if row.sign == " " and row.text.strip()]
    if not choices:
        return False
    hunk.rows[edit.rng.choice(choices)] = Row(" ", _comment(edit.source.path))
    return True


def the_same_lines_twice(edit: Edit) -> bool:
    """Two changes of the same lines that say different things."""
    edit.expected = "refused"
    hunk = edit.hunks[0]
    if not any(row.sign == "-" for row in hunk.rows):
        return False
    other = [replace(row, text=f"{row.text}_other") if row.sign == "+" else row for row in hunk.rows]
    edit.hunks.append(Hunk(hunk.start, other))
    return True


def careless(edit: Edit) -> bool:
    """Trailing blanks, another indentation and the wrong order at once."""
    hit = less_indented(edit)
    edit.numbers = "wrong"
    edit.hunks.reverse()
    return trailing_blanks(edit) and hit


SPOILED: Final[dict[str, Way]] = {
    "as it is": as_it_is,
    "trailing blanks": trailing_blanks,
    "trailing blanks lost": no_trailing_blanks,
    "indented less": less_indented,
    "indented more": more_indented,
    "tabs for spaces": tabs,
    "spaces for tabs": spaces,
    "typographic signs": typographic,
    "signs made ASCII": plain_ascii,
    "wrong order": wrong_order,
    "wrong line numbers": wrong_numbers,
    "no line numbers": no_numbers,
    "several of these": careless,
    "lines missing": missing_lines,
    "a line misremembered": misremembered,
    "indented unevenly": unevenly_indented,
    "not the only place": not_the_only_place,
    "cut off": cut_off,
    "lines left out": left_out,
    "quoted with gaps": quoted_with_gaps,
    "the same lines twice": the_same_lines_twice,
    **QUOTING,
}
SEVERAL: Final = ("several files", "several files, one wrong")
_PARTS: Final[frozenset[Form]] = frozenset(FORMS)
_ALL: Final[frozenset[Form]] = _PARTS.union(("whole",))
WAYS_OF: Final[dict[str, frozenset[Form]]] = {
    **dict.fromkeys(SPOILED, _PARTS),
    **dict.fromkeys(("as it is", "trailing blanks", "trailing blanks lost", "typographic signs"), _ALL),
    **dict.fromkeys(("lines missing", "cut off", "lines left out"), _ALL),
    **dict.fromkeys(("wrong line numbers", "no line numbers"), frozenset[Form]({"diff"})),
    **dict.fromkeys(QUOTING, frozenset[Form]({"search/replace"})),
    **dict.fromkeys(("signs made ASCII",), _ALL),
    **dict.fromkeys(SEVERAL, _PARTS),
}
"""What is spoiled in which way: a whole file has no lines to search that could be wrong."""
