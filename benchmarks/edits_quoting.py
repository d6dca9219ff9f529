"""Careless quotations in search/replace blocks, ambiguous or not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from benchmarks.edits_forms import Hunk, Row
from tideate_core.edits.indentation import indent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.edits_ways import Edit, Way

SEPARATORS: Final = (": ", "| ", " | ", "\t", "→")
FENCES: Final = ("```", "~~~")


def _beside(edit: Edit, hunk: Hunk, at: int) -> str:
    """Return the line before (0) or after (-1) a hunk in the file; empty at its edges."""
    number = hunk.start - 1 if at == 0 else hunk.end
    return edit.source.lines[number] if 0 <= number < len(edit.source.lines) else ""


def _extra_blank(edit: Edit, sign: str) -> bool:
    """Add a blank line at the beginning, the end or both; False where the file has such a line there."""
    ends = edit.rng.choice(((0,), (-1,), (0, -1)))
    for hunk in edit.hunks:
        edges = [hunk.rows[0].text, hunk.rows[-1].text, _beside(edit, hunk, 0), _beside(edit, hunk, -1)]
        if not all(text.strip() for text in edges) or _is_end(edit, hunk):
            return False
    for hunk in edit.hunks:
        rows = hunk.rows
        blank = Row("-" if sign == "-" else " ", "")
        hunk.rows = [*([blank] if 0 in ends else ()), *rows, *([blank] if -1 in ends else ())]
    return True


def _is_end(edit: Edit, hunk: Hunk) -> bool:
    return hunk.start == 0 or hunk.end >= len(edit.source.lines)


def blank_in_search(edit: Edit) -> bool:
    """A blank line too many around the lines to search."""
    return _extra_blank(edit, "-")


def blank_in_both(edit: Edit) -> bool:
    """A blank line too many around the lines to search and the new ones."""
    return _extra_blank(edit, " ")


def numbered(edit: Edit) -> bool:
    """Line numbers in front of all lines, as tools show files."""
    separator = edit.rng.choice(SEPARATORS)
    for hunk in edit.hunks:
        old = new = hunk.start + 1
        rows: list[Row] = []
        for row in hunk.rows:
            if row.sign == " ":  # the numbers of both sides part after a change
                rows.append(Row("-", f"{old}{separator}{row.text}"))
                rows.append(Row("+", f"{new}{separator}{row.text}"))
            else:
                rows.append(replace(row, text=f"{old if row.sign == '-' else new}{separator}{row.text}"))
            old, new = old + (row.sign != "+"), new + (row.sign != "-")
        hunk.rows = rows
    return True


def fenced(edit: Edit) -> bool:
    """A code fence around the lines to search and around the new ones."""
    if any(line.strip().startswith(FENCES) for line in edit.source.lines):
        return False
    tag = edit.rng.choice(("", edit.source.path.rpartition(".")[2]))
    for hunk in edit.hunks:
        hunk.rows = [Row(" ", f"```{tag}"), *hunk.rows, Row(" ", "```")]
    return True


def first_indent_lost(edit: Edit) -> bool:
    """The first line of the searched and of the new lines without its indentation, the others with it."""
    hit = False
    for hunk in edit.hunks:
        if len([line for line in hunk.old if line.strip()]) < 2 or not hunk.new or not hunk.new[0].strip():
            return False
        if not hunk.old[0].strip() or not indent_of(hunk.old[0]):
            continue
        firsts = [next(at for at, row in enumerate(hunk.rows) if row.sign != sign) for sign in "+-"]
        if indent_of(hunk.new[0]) != indent_of(hunk.old[0]):
            return False
        for at in set(firsts):
            hunk.rows[at] = replace(hunk.rows[at], text=hunk.rows[at].text.lstrip(" \t"))
        hit = True
    return hit


def non_breaking(edit: Edit) -> bool:
    """Non-breaking blanks in the lines to search, be they repeated or not."""
    everywhere, hit = edit.rng.random() < 0.5, False
    for hunk in edit.hunks:
        rows: list[Row] = []
        for row in hunk.rows:
            spoiled = row.text.replace(" ", "\u00a0")
            hit |= row.sign != "+" and spoiled != row.text
            if row.sign == " ":
                rows += [Row("-", spoiled), Row("+", spoiled if everywhere else row.text)]
            else:
                rows.append(replace(row, text=spoiled if everywhere or row.sign == "-" else row.text))
        hunk.rows = rows
    return hit


def elided(edit: Edit) -> bool:
    """New lines with placeholders for others, whether or not such a line exists in the file."""
    edit.expected = "refused"
    hunk = edit.rng.choice(edit.hunks)
    mark = edit.rng.choice(("...", "# …unchanged…", "# ...", "// ... existing code ...", "# … rest …"))
    inner = [at for at, row in enumerate(hunk.rows) if row.sign == "-" and row.text.strip()]
    if not inner or edit.source.path.endswith((".md", ".yaml", ".pyi")):
        return False
    # beside a line that is kept, so that it does not merely change a line into three dots
    hunk.rows.insert(inner[-1] + 1, Row("+", indent_of(hunk.rows[inner[-1]].text) + mark))
    if edit.rng.random() < 0.5:
        _write_elsewhere(edit, mark)
    return any(row.sign == " " and row.text.strip() for row in hunk.rows)


def _write_elsewhere(edit: Edit, mark: str) -> None:
    lines = (*edit.source.lines, mark)
    edit.source = replace(edit.source, lines=lines)
    edit.after = [*edit.after, mark]


def ambiguous_places(edit: Edit) -> bool:
    """Lines to search that stand at another place with other blanks."""
    edit.expected = "refused"
    hunk = edit.rng.choice(edit.hunks)
    if not all(row.text.strip() for row in hunk.rows):
        return False
    lines: Sequence[str] = edit.source.lines
    tabs = any(line.startswith("\t") for line in lines)
    change: Callable[[str], str] = edit.rng.choice(
        (lambda line: f"{line} ", lambda line: ("\t" if tabs else "    ") + line, lambda line: f"{line}\t")
    )
    twin = [change(line) for line in hunk.old]
    edit.source = replace(edit.source, lines=(*lines, "zzz", *twin, "zzz"))
    edit.after = [*edit.after, "zzz", *twin, "zzz"]
    return True


QUOTING: Final[dict[str, Way]] = {
    "blank line in the search": blank_in_search,
    "blank line in both": blank_in_both,
    "line numbers": numbered,
    "fence inside": fenced,
    "first indentation lost": first_indent_lost,
    "non-breaking blanks": non_breaking,
    "elided in the new lines": elided,
    "two places but for blanks": ambiguous_places,
}
