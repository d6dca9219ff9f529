"""From a model's answer to the lines of an edit, or a reason that the model can act on."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from tideate_core.edits.choice import choose_block
from tideate_core.edits.fences import enclosing_block, fenced_blocks, is_fence
from tideate_core.edits.indent import first_indent, in_style_of, indent_of, shift, strip_edges
from tideate_core.edits.placeholders import find_placeholder
from tideate_core.edits.prose import is_chatty, looks_like_code
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import PROSE, Fit, fit_of_tag

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["extract_code", "fit_to_range"]

_THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_OPEN_THOUGHTS = re.compile(r"\A\s*<(?:think|thinking|reasoning)>")
_ONE_LINE = re.compile(r"\A(`{1,3})(?!`)(?P<code>[^`\n]+)\1\Z")
_HUNK = re.compile(r"^@@ .*@@")
_MARKERS = re.compile(r"^(?:<{5,9}(?: \S.*)?|>{5,9}(?: \S.*)?)$")

_CUT = "the code block has no closing fence, so the answer seems to be cut off; write the complete code"
_NO_CODE = "it holds no code; put the complete new text into one fenced code block"


def extract_code(
    answer: str, *, language: str, old: Sequence[str] | None, context: Sequence[str] = ()
) -> list[str]:
    """Return the lines of code in an answer, without fences and without blank lines at the edges.

    :param old: the lines that the code replaces, None where it replaces nothing.
    :param context: the whole text; a line that stands in it is never taken for a placeholder.
    :raises UnusableAnswer: there is none, it is not clear which, it was cut off or has lines left out.
    """
    lines = _cleaned(answer)
    code = _code(lines, language, list(old or ()))
    first, last = strip_edges(code)
    code = code[first:last]
    if not code:
        raise UnusableAnswer("the code block is empty; write the complete new text")
    known = [*(old or ()), *context]
    _refuse_patches(code, known, language)
    left_out = find_placeholder(code, known, language)
    if left_out is not None:
        raise UnusableAnswer(
            f"line {left_out + 1} of your code, {code[left_out].strip()!r}, stands for lines that you left "
            "out; write all of them"
        )
    return code


def fit_to_range(code: Sequence[str], old: Sequence[str], *, style: Sequence[str] = ()) -> list[str]:
    r"""Give code the shape of the lines it replaces.

    It is moved uniformly to the indentation of old's first line, with tabs or spaces as there; old's blank
    lines at the edges are kept, and its ``\r`` line ends if all of its lines have one.

    :param style: lines that tell between tabs and spaces where `old` has no indented one.
    :raises UnusableAnswer: the code cannot be moved there.
    """
    first, last = strip_edges(old)
    start, end = strip_edges(code)
    if first == last:
        return _with_line_ends([line.rstrip("\r") for line in code[start:end]], old)
    plain = [line.rstrip("\r") for line in code[start:end]]
    model = old if any(line.strip() and indent_of(line) for line in old) else style
    fitted = _moved(in_style_of(plain, model), [line.rstrip("\r") for line in old])
    return [*old[:first], *_with_line_ends(fitted, old), *old[last:]]


def _moved(code: list[str], old: list[str]) -> list[str]:
    """Move code as its unchanged lines were moved; without such ones, by its first line."""
    have, want = first_indent(code), first_indent(old)
    anchors = _anchors(code[1:], old)
    if anchors:
        have, want = anchors
    elif have == want or (not have and _lowest(code[1:]) == _lowest(old[1:]) is not None):
        # the lines after the first are as deep as they were: the answer was merely stripped
        have = want = ""
    moved = shift(code, have, want)
    if have == want and not indent_of(moved[0]):
        return [first_indent(old) + moved[0], *moved[1:]]
    return moved


def _anchors(code: list[str], old: list[str]) -> tuple[str, str] | None:
    """Return from which indentation to which most unchanged lines were moved, None if they do not agree."""
    once = Counter(line.strip() for line in old)
    places = {line.strip(): indent_of(line) for line in old if line.strip() and once[line.strip()] == 1}
    pairs = [(indent_of(line), places[line.strip()]) for line in code if line.strip() in places]
    votes = Counter(len(there) - len(here) for here, there in pairs)
    if not votes:
        return None
    offset, count = votes.most_common(1)[0]
    agreeing = [pair for pair in pairs if len(pair[1]) - len(pair[0]) == offset]
    return min(agreeing, key=lambda pair: len(pair[0])) if count * 2 > len(pairs) else None


def _lowest(lines: list[str]) -> int | None:
    return min((len(indent_of(line)) for line in lines if line.strip()), default=None)


def _with_line_ends(code: list[str], old: Sequence[str]) -> list[str]:
    if old and all(line.endswith("\r") for line in old):
        return [f"{line}\r" for line in code]
    return code


def _cleaned(answer: str) -> list[str]:
    text = _THOUGHTS.sub("", answer.replace("\r\n", "\n").lstrip("\ufeff"))
    if _OPEN_THOUGHTS.match(text):
        raise UnusableAnswer("it ended before the code; think less and answer with one fenced code block")
    if not text.strip():
        raise UnusableAnswer("it is empty; answer with one fenced code block")
    return text.split("\n")


def _code(lines: list[str], language: str, old: list[str]) -> list[str]:
    if not any(is_fence(line) for line in lines):
        return _unfenced(lines, language, old)
    if _is_raw_markdown(lines, language, old):
        return _unfenced(lines, language, old)
    return _fenced(_unwrapped(lines, language), language, old)


def _fenced(lines: list[str], language: str, old: list[str]) -> list[str]:
    blocks = fenced_blocks(lines)
    nesting = enclosing_block(lines) if language in PROSE or any(is_fence(line) for line in old) else None
    if nesting and (len(blocks) != 1 or blocks[0] != nesting.block):
        if nesting.certain or any(line.strip() in {"```", "~~~"} for line in old):
            return list(nesting.block.lines)
        raise UnusableAnswer(
            "it is not clear where the outer code block ends; put it between lines of four backticks (````)"
        )
    if not blocks:
        return _unfenced([line for line in lines if not is_fence(line)], language, old)
    if any(not block.closed for block in blocks):
        raise UnusableAnswer(_CUT)
    return list(choose_block(blocks, language, old).lines)


def _is_raw_markdown(lines: list[str], language: str, old: list[str]) -> bool:
    """Whether the fences belong to the text itself, which was answered without one around it."""
    if language not in PROSE:
        return False
    first = next(line for line in lines if line.strip())
    blocks = fenced_blocks(lines)
    if any(fit_of_tag(block.info, language)[1] >= Fit.NEAR for block in blocks):
        return False
    if not is_fence(first):
        return not is_chatty(first)
    wraps = not blocks or not blocks[0].info or fit_of_tag(blocks[0].info, language)[1] is Fit.NEUTRAL
    return not wraps or any(is_fence(line) for line in old[:1])


def _unwrapped(lines: list[str], language: str) -> list[str]:
    """Take off a Markdown fence around the whole answer, with its text and its code block in it."""
    first = next((number for number, line in enumerate(lines) if is_fence(line)), None)
    nesting = enclosing_block(lines)
    if first is None or language in PROSE or nesting is None or not nesting.certain:
        return lines
    inner = nesting.block.lines
    if fit_of_tag(nesting.block.info, language)[0] == "markdown" and any(is_fence(line) for line in inner):
        return list(inner)
    return lines


def _unfenced(lines: list[str], language: str, old: list[str]) -> list[str]:
    text = "\n".join(lines).strip()
    if one := _ONE_LINE.match(text):
        return [one["code"]]
    first, last = strip_edges(lines)
    kept = lines[first:last]
    if not kept:
        raise UnusableAnswer(_NO_CODE)
    if language in PROSE:
        if is_chatty(kept[0]):
            raise UnusableAnswer("it has words around the text; put only the text into one fenced block")
        return kept
    if not looks_like_code(kept, old):
        raise UnusableAnswer(_NO_CODE)
    return kept


def _refuse_patches(code: list[str], known: list[str], language: str) -> None:
    """Turn down a diff or search/replace markers where plain code was asked for."""
    if language == "diff":
        return
    seen = set(known)
    pairs = pairwise(code)
    is_diff = any(a.startswith("--- ") and b.startswith("+++ ") and a not in seen for a, b in pairs)
    if is_diff or any(_HUNK.match(line) and line not in seen for line in code):
        raise UnusableAnswer("it is a diff; write the complete new text instead, without + and - signs")
    if any(_MARKERS.match(line) and line not in seen for line in code):
        raise UnusableAnswer("it has search/replace or conflict markers; write only the complete new text")
