"""Extraction of code from an answer that is a whole new text, without thoughts, prose and fences."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from tideate_core.edits.fences import enclosing_block, fenced_blocks, is_fence
from tideate_core.edits.indentation import filled_texts, strip_edges
from tideate_core.edits.placeholders import find_placeholder
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import PROSE, Fit, fit_of_tag, same_family

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.edits.fences import Block

_THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_OPEN_THOUGHTS = re.compile(r"\A\s*<(?:think|thinking|reasoning)>")
_ONE_LINE = re.compile(r"\A(`{1,3})(?!`)(?P<code>[^`\n]+)\1\Z")
_HUNK = re.compile(r"^@@ .*@@")
_MARKERS = re.compile(r"^(?:<{5,9}(?: \S.*)?|>{5,9}(?: \S.*)?)$")

_CUT = "the code block has no closing fence, so the answer seems to be cut off; write the complete code"
_NO_CODE = "it holds no code; put the complete new text into one fenced code block"

_NEVER_MEANT = ("diff", "bash", "console", "json")
"""Languages of blocks that accompany code: patches, commands, data."""
_LEAST_REPEATED = 3
"""Distinct old lines that identify an unfenced answer as code."""
_CORRECTION = re.compile(
    r"(?i)\b(?:actual(?:ly)?|better|clean(?:er|ed)|complete|correct(?:ed|ion|ly)?|final(?:ly)?|fix(?:ed|es)?|full"
    r"|improve[ds]?|instead|mistake|oops|rather|revised|rewritten|simplif\w+|sorry|updated?|wait)\b"
)
_ALTERNATIVE = re.compile(
    r"(?i)\b(?:alternativ\w*|also|another|choose|either|equivalent\w*|if you|option\w*|or|other|prefer"
    r"|variant)\b"
)
"""Words that offer an alternative solution."""
_DOMINANT = 2
"""Factor by which a block must be longer than any other to count as the whole code."""

_CHATTY = re.compile(
    r"^(?:here(?:'s| is| are)\b|sure\b[,!. ]|certainly\b|of course\b|ok(?:ay)?\b[,!. ]|below is\b"
    r"|absolutely\b|this (?:code|function|version|script|will|refactored|updated|is (?:a|the|how))\b"
    r"|(?:the|in the|in this) (?:code|function|above|following|updated|refactored|new|selected|original|"
    r"result)\b"
    r"|i(?:'ve|'ll|'m| have| am| will| can| cannot| can't| made| changed| refactored)\b"
    r"|note(?: that|:)|explanation|you can\b|let me\b|let's\b|to (?:do|use|run|fix|make) (?:this|the|it)\b"
    r"|as an ai\b|sorry\b|unfortunately\b|please\b|no changes?\b|we (?:can|have|need)\b|hope this\b"
    r"|(?:updated|refactored|new|improved|modified) (?:code|version|function)\b)",
    re.IGNORECASE,
)
_COMMENT = ("#", "//", "/*", "*", "--", ";", "%", "<", '"', "'", "{-", "(*", "@", "|", "\\", ":")
_KEYWORDS = re.compile(
    r"^(?:if|elif|elseif|else|for|foreach|while|until|unless|when|with|try|except|catch|finally|def|class|fn|func|"
    r"function|async|await|do|case|switch|match|select|default|begin|module|impl|public|private|protected|static|"
    r"const|let|var|local|struct|enum|interface|type|package|import|from|use|using|return|raise|throw|yield|"
    r"assert|not|lambda|global|nonlocal|del|echo|export|set|where|in|of|end)\b"
)
_CODE = re.compile(
    r"[=(){}\[\];<>|$@&\\+*]|\w\.\w|:\s*$|^\s*[\w-]+:\s|^\s*(?:return|pass|break|continue|end|fi|done|esac|else|try|"
    r"do|then|import|from|use|local|let|const|var|begin|raise|yield|throw|echo|export|set|select)\b|^\s*[#@.]\w"
    r"|^\s*['\"\d-]"
)
_SENTENCE = re.compile(r"^[A-Z(\"'`*][^=;{}\[\]<>|\\]*[.:!?]\)?\**$", re.IGNORECASE)
_LEAST_WORDS = 4
_MOST_SENTENCES = 3
"""Lines per line that may be a sentence (in a string or a docstring)."""


def extract_code(
    answer: str,
    *,
    language: str,
    old: Sequence[str] | None,
    context: Sequence[str] = (),
    fenced: bool = False,
) -> list[str]:
    """Return the lines of code in an answer, without fences and blank edges.

    :param old: the replaced lines; None if nothing is replaced.
    :param context: the whole text; its lines never count as placeholders.
    :param fenced: a fence was requested: without one, only text that repeats most of `old` is accepted.
    :raises UnusableAnswer: the code is missing, ambiguous, cut off or incomplete.
    """
    lines = without_thoughts(answer)
    code = _code_lines(lines, language, list(old or ()))
    if fenced and not _is_in_fence(lines, code) and not _repeats_most(code, old or ()):
        raise UnusableAnswer(_NO_CODE)
    first, last = strip_edges(code)
    code = code[first:last]
    if not code:
        raise UnusableAnswer("the code block is empty; write the complete new text")
    known = [*(old or ()), *context]
    _refuse_patches(code, known, language)
    left_out = find_placeholder(code, old or (), language, quoted=context)
    if left_out is not None:
        raise UnusableAnswer(
            f"line {left_out + 1} of your code, {code[left_out].strip()!r}, stands for lines that you left "
            "out; write all of them"
        )
    return code


def _is_in_fence(lines: Sequence[str], code: Sequence[str]) -> bool:
    """Tell whether the code was taken from between fences."""
    return any(is_fence(line) for line in lines) and len(filled_texts(code)) < len(filled_texts(lines))


def _repeats_most(code: Sequence[str], old: Sequence[str]) -> bool:
    filled, has = set(filled_texts(old)), set(filled_texts(code))
    return len(filled & has) >= _LEAST_REPEATED and len(filled & has) * 2 >= len(filled)


def without_thoughts(answer: str) -> list[str]:
    """Return the lines of an answer without the model's leading thoughts.

    :raises UnusableAnswer: the answer has only thoughts.
    """
    text = _THOUGHTS.sub("", answer.replace("\r\n", "\n").lstrip("\ufeff"))
    if _OPEN_THOUGHTS.match(text):
        raise UnusableAnswer("it ended before the code; think less and answer with one fenced code block")
    if not text.strip():
        raise UnusableAnswer("it is empty; answer with one fenced code block")
    return text.split("\n")


def _code_lines(lines: list[str], language: str, old: list[str]) -> list[str]:
    if not any(is_fence(line) for line in lines):
        return _code_without_fences(lines, language, old)
    if _is_raw_markdown(lines, language, old):
        return _code_without_fences(lines, language, old)
    return _code_in_fences(_without_outer_fence(lines, language), language, old)


def _code_in_fences(lines: list[str], language: str, old: list[str]) -> list[str]:
    blocks = fenced_blocks(lines)
    nesting = enclosing_block(lines) if language in PROSE or any(is_fence(line) for line in old) else None
    if nesting and (len(blocks) != 1 or blocks[0] != nesting.block):
        if nesting.certain or any(line.strip() in {"```", "~~~"} for line in old):
            return list(nesting.block.lines)
        raise UnusableAnswer(
            "it is not clear where the outer code block ends; put it between lines of four backticks (````)"
        )
    if not blocks:
        return _code_without_fences([line for line in lines if not is_fence(line)], language, old)
    if any(not block.closed for block in blocks):
        raise UnusableAnswer(_CUT)
    return list(_choose_block(blocks, lines, language, old).lines)


def _is_raw_markdown(lines: list[str], language: str, old: list[str]) -> bool:
    """Tell whether the fences belong to a Markdown text that was answered without a fence around it."""
    if language not in PROSE:
        return False
    first = next(line for line in lines if line.strip())
    blocks = fenced_blocks(lines)
    if any(fit_of_tag(block.info, language)[1] >= Fit.NEAR for block in blocks):
        return False
    if not is_fence(first):
        return not _is_chatty(first)
    wraps = not blocks or not blocks[0].info or fit_of_tag(blocks[0].info, language)[1] is Fit.NEUTRAL
    return not wraps or any(is_fence(line) for line in old[:1])


def _without_outer_fence(lines: list[str], language: str) -> list[str]:
    """Remove a Markdown fence around the whole answer, prose and code block included."""
    first = next((number for number, line in enumerate(lines) if is_fence(line)), None)
    nesting = enclosing_block(lines)
    if first is None or language in PROSE or nesting is None or not nesting.certain:
        return lines
    inner = nesting.block.lines
    if fit_of_tag(nesting.block.info, language)[0] == "markdown" and any(is_fence(line) for line in inner):
        return list(inner)
    return lines


def _code_without_fences(lines: list[str], language: str, old: list[str]) -> list[str]:
    text = "\n".join(lines).strip()
    if one := _ONE_LINE.match(text):
        return [one["code"]]
    first, last = strip_edges(lines)
    kept = lines[first:last]
    if not kept:
        raise UnusableAnswer(_NO_CODE)
    if language in PROSE:
        if _is_chatty(kept[0]):
            raise UnusableAnswer("it has words around the text; put only the text into one fenced block")
        return kept
    if not _looks_like_code(kept, old):
        raise UnusableAnswer(_NO_CODE)
    return kept


def _refuse_patches(code: list[str], known: list[str], language: str) -> None:
    """Reject a diff or search/replace markers where plain code was requested."""
    if language == "diff":
        return
    seen = set(known)
    pairs = pairwise(code)
    is_diff = any(a.startswith("--- ") and b.startswith("+++ ") and a not in seen for a, b in pairs)
    if is_diff or any(_HUNK.match(line) and line not in seen for line in code):
        raise UnusableAnswer("it is a diff; write the complete new text instead, without + and - signs")
    if any(_MARKERS.match(line) and line not in seen for line in code):
        raise UnusableAnswer("it has search/replace or conflict markers; write only the complete new text")


def _choose_block(blocks: Sequence[Block], lines: Sequence[str], language: str, old: Sequence[str]) -> Block:
    """Return the block with the new text.

    Blocks in another language and quotations of the whole old text are ignored. If several remain, the last
    one is taken if all begin with the same line and the words between call it a correction. Otherwise the
    longest is taken if it is by far the longest and no other block has old lines that it lacks.

    :param lines: the whole answer.
    :raises UnusableAnswer: no block qualifies, or the choice is ambiguous.
    """
    candidates = _blocks_of_language(blocks, language)
    candidates = list({tuple(filled_texts(block.lines)): block for block in candidates}.values())
    if not candidates:
        raise UnusableAnswer("the code block is empty; write the complete new text")
    if len(candidates) > 1 and old:
        whole = filled_texts(old)
        candidates = [block for block in candidates if filled_texts(block.lines) != whole] or candidates
    if len(candidates) == 1:
        return candidates[0]
    one_text = len({filled_texts(block.lines)[0] for block in candidates}) == 1
    if one_text and _are_drafts(candidates, lines):
        return candidates[-1]
    longest = max(candidates, key=_size)
    rest = [block for block in candidates if block is not longest]
    if (
        one_text
        or any(_size(block) * _DOMINANT > _size(longest) for block in rest)
        or _holds_more(rest, longest, old)
    ):
        raise UnusableAnswer(
            f"it has {len(candidates)} code blocks and it is not clear which one is meant; "
            "answer with exactly one code block that holds the complete new text"
        )
    return longest


def _are_drafts(blocks: Sequence[Block], lines: Sequence[str]) -> bool:
    """Tell whether the words before each later block say that it replaces the previous one."""
    between = [" ".join(lines[one.end : other.start]) for one, other in pairwise(blocks)]
    return all(_CORRECTION.search(words) and not _ALTERNATIVE.search(words) for words in between)


def _blocks_of_language(blocks: Iterable[Block], language: str) -> list[Block]:
    filled = [block for block in blocks if _size(block)]
    rated = [(block, *fit_of_tag(block.info, language)) for block in filled]
    best = max((fit for _, _, fit in rated), default=Fit.FOREIGN)
    if best is Fit.FOREIGN:
        usable = [
            (block, tag) for block, tag, _ in rated if not any(same_family(tag, no) for no in _NEVER_MEANT)
        ]
        if rated and not usable:
            tag = rated[0][1]
            raise UnusableAnswer(
                f"its code block is marked as {tag}, but the text is {language or 'something else'}; "
                "answer with the complete new text itself"
            )
        return [block for block, _ in usable]
    if best is Fit.EXACT:
        # an unmarked block may hold part of the code, so it competes
        return [block for block, _, fit in rated if fit in {Fit.EXACT, Fit.NEUTRAL}]
    return [block for block, _, fit in rated if fit is not Fit.FOREIGN]


def _holds_more(others: Iterable[Block], longest: Block, old: Sequence[str]) -> bool:
    """Tell whether other blocks have old lines that the longest lacks: the code was split."""
    missing = set(filled_texts(old)) - set(filled_texts(longest.lines))
    return any(
        not missing.isdisjoint(line for line in filled_texts(block.lines) if len(line) > 3)
        for block in others
    )


def _size(block: Block) -> int:
    return len(filled_texts(block.lines))


def _is_chatty(line: str) -> bool:
    """Tell whether a line is a typical opening or closing of an answer: ``Here is the code:``."""
    return _CHATTY.match(line.replace("\u2019", "'").strip().lstrip("*_# ")) is not None


def _is_sentence(line: str) -> bool:
    """Tell whether a line reads as a sentence, not as code or a comment."""
    text = line.strip()
    if not text or text.startswith(_COMMENT) or _KEYWORDS.match(text):
        return False
    if _is_chatty(text) and not re.search(r"[=;{]|\w\(", text.replace("`", "")):
        return True
    return len(text.split()) >= _LEAST_WORDS and _SENTENCE.match(text) is not None


def _looks_like_code(lines: Sequence[str], old: Sequence[str]) -> bool:
    """Tell whether lines without a fence are code from the first to the last."""
    filled = [line for line in lines if line.strip()]
    seen = {line.strip() for line in old if line.strip()}
    strange = [line for line in filled if line.strip() not in seen]
    if any(_is_sentence(line) and line in strange for line in (filled[0], filled[-1])):
        return False
    sentences = sum(_is_sentence(line) for line in strange)
    if sentences * _MOST_SENTENCES > len(filled):
        return False
    return any(line.strip() in seen or _CODE.search(line) for line in filled)
