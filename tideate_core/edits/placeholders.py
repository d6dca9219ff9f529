"""Reject placeholders for omitted lines in a model's code: ``# ... rest of the code ...``."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from tideate_core.edits.fences import is_fence
from tideate_core.edits.indentation import width_of
from tideate_core.errors import UnusableAnswer
from tideate_core.util.escaping import HIDDEN, HIDDEN_LINE
from tideate_core.workspace import PROSE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DOTS = r"(?:\.{3,}|…)"
_NOUN = (
    r"(?:code|codebase|file|functions?|methods?|class(?:es)?|implementations?|modules?|script|body|bodies|logic|"
    r"imports?|contents?|lines?|program|components?|definitions?|tests?|cases?|parts?|sections?|document|text|"
    r"styles?|rules?|fields?|properties|handlers?|routes?|statements?|markup|page|elements?|variables?|"
    r"steps?|jobs?|keys|settings|config(?:uration)?|options)"
)
_TAIL = (
    r"(?: (?:is|are|remains?|stays?|goes|go|here|unchanged|unmodified|untouched|the same|same|as is|"
    r"as before|as above|below|above|omitted|for brevity|follows?|continues?|not shown|comes?))"
)
_LEAD = r"(?:(?:and|the|all|your|keep|insert|include|add|put|with|of) )*"
_OF = r" of (?:the |your |this |my |its )?(?:\w+ ){0,3}?"
_QUALIFIED = (
    rf"{_LEAD}(?:existing|remaining|previous|original|unchanged|other|same|omitted|unmodified) "
    rf"(?:\w+ ){{0,3}}?{_NOUN}"
)

_WHOLE = re.compile(
    rf"{_LEAD}(?:rest|remainder){_OF}{_NOUN}{_TAIL}*"
    rf"|{_QUALIFIED}{_TAIL}+"
    r"|(?:the |your )?(?:existing|unchanged|original) (?:code|implementation|logic)"
    r"|(?:unchanged|omitted|elided)(?: for brevity)?"
    r"|same as (?:before|above|the original)|as before|not shown|no changes? (?:needed )?here"
    rf"|(?:the )?{_NOUN} (?:remains?|stays?|is|are)(?: (?:unchanged|the same|as is|omitted))+{_TAIL}*"
    rf"|(?:the )?{_NOUN} (?:goes here|omitted for brevity|unchanged)"
    r"|(?:(?:add|put|insert|write|place) )?your (?:\w+ )?(?:code|logic|implementation) (?:goes )?here"
    r"|(?:add|put|insert|write|place) (?:the )?(?:code|logic|implementation) here"
)
"""Complete comments that stand for omitted lines."""

_WITH_DOTS = re.compile(
    rf"{_WHOLE.pattern}|{_LEAD}(?:rest|remainder|remaining)(?:{_OF}\w+)?{_TAIL}*|{_QUALIFIED}{_TAIL}*"
    rf"|etc|and so on|more (?:\w+ ){{0,2}}?{_NOUN}|snip(?:ped)?|(?:code )?continue[sd]?"
)
"""Complete comments that stand for omitted lines beside an ellipsis."""

_OPENERS = r"#+|//+|/\*+|\*+|--+(?:\[\[)?|;+|%+|<!--|\{/\*|\(\*|\{-|\{#|<%--|REM\b|::|dnl\b|!"
_COMMENT = re.compile(
    rf"^(?:{_OPENERS})\s*(?P<text>.*?)\s*(?:\*+/\}}?|--+>|\*\)|\]\]|-\}}|#\}}|--%>)?$", re.IGNORECASE
)
_HTML_COMMENT = re.compile(r"^<!--\s*(?P<text>.*?)\s*-->$")
_QUOTED_COMMENT = {"vim": '"', "vb": "'", "vbnet": "'"}
_INLINE = re.compile(r"(?:[\s{;:])(?://+|#+|--+)\s+(?P<text>[^'\"]*)$|/\*+\s*(?P<block>.*?)\s*\*/[\s;,})]*$")
_DOES_NOTHING = re.compile(r"(?:^|\b(?:pass|return|None|null|nil)|\.\.\.|[{}(,:])[\s;]*$")
_SPREAD = re.compile(r"\.\.\.\w")
_EMPTY_BODY = re.compile(rf"\{{\s*(?:/\*+\s*)?{_DOTS}(?:\s*\*/)?\s*\}}[;,]?$")
_BARE = re.compile(rf"^[\[({{<]?\s*{_DOTS}\s*[\])}}>]?$")
_DOCTEST = (">>>", "... ", "Traceback ")
_MOST_WORDS = 12
_LONGEST = 300
"""Characters of the longest possible placeholder; longer lines would be slow to search."""

_DEFINITION = re.compile(r"^\s*(?:async\s+)?(?P<kind>def|class)\s+(?P<name>\w+)")
_MEANS_STUB = re.compile(r"\b(?:overload|abstractmethod|abstractproperty)\b")
_STUB_CLASS = re.compile(r"^\s*class\s+\w+.*\bProtocol\b")
_ONE_LINER = re.compile(r":\s*\.\.\.$")


def find_placeholder(
    code: Sequence[str],
    known: Sequence[str],
    language: str,
    *,
    quoted: Sequence[str] = (),
    all_replaced: bool = False,
) -> int | None:
    """Return the 0-based number of the first line that stands for omitted lines.

    A line that is also in the original is no placeholder.

    :param known: the replaced lines; empty for new code.
    :param quoted: other lines that the code may repeat.
    :param all_replaced: the code replaces all of `known`, so a function may be renamed.
    """
    seen = {line.strip() for line in (*known, *quoted)}
    fenced = False
    for number, line in enumerate(code):
        fenced ^= language in PROSE and is_fence(line)
        text = line.strip()
        if not text or text in seen:
            continue
        if HIDDEN in text or HIDDEN_LINE in text:
            return number  # it would replace text that was hidden from the model
        text = " ".join(text.split())
        if len(text) > _LONGEST:
            continue
        if _is_placeholder(text, language) and not (fenced and _BARE.match(text)):
            return number
        if not _has_bare_ellipsis(text, language) or (language in PROSE and fenced):
            continue
        if not _is_of_the_language(code, number, language) and not (
            language == "python" and _is_python_body(code, number, known, all_replaced=all_replaced)
        ):
            return number
    return None


def refuse_placeholder(
    code: Sequence[str],
    known: Sequence[str],
    language: str,
    named: str = "its line",
    *,
    quoted: Sequence[str] = (),
    all_replaced: bool = False,
) -> None:
    """Reject code with a placeholder for omitted lines; see `find_placeholder`.

    :param named: words before the line in the message.
    :raises UnusableAnswer: the code has a placeholder.
    """
    left_out = find_placeholder(code, known, language, quoted=quoted, all_replaced=all_replaced)
    if left_out is not None:
        raise UnusableAnswer(
            f"{named} {code[left_out].strip()!r} stands for lines that you left out; write all of them"
        )


def _is_placeholder(text: str, language: str) -> bool:
    comment = _comment_text(text, language)
    if comment is not None:
        return _stands_for_code(comment) or _BARE.match(comment.strip("-*= ")) is not None
    if text[0] in "[(<{" and text[-1] in "])>}" and not _SPREAD.search(text) and _stands_for_code(text[1:-1]):
        return True
    if re.match(rf"{_DOTS}(?:\s|\w+ \w+ )", text) and _stands_for_code(text):
        return True
    if text[0].isalpha() and len(text.split()) > 2 and _WHOLE.fullmatch(_words(text)):
        return True
    return language not in PROSE and _has_inline_placeholder(text)


def _comment_text(text: str, language: str) -> str | None:
    if language in PROSE:
        match = _HTML_COMMENT.match(text)
    else:
        match = _COMMENT.match(text)
        quote = _QUOTED_COMMENT.get(language)
        if match is None and quote and text.startswith(quote):
            return text.removeprefix(quote).strip()
    return match["text"] if match else None


def _has_inline_placeholder(text: str) -> bool:
    if _EMPTY_BODY.search(text):
        return True
    match = _INLINE.search(text)
    if match is None:
        return False
    comment = match["text"] or match["block"] or ""
    # after code, `# unchanged` is a remark about that code
    telling = _DOES_NOTHING.search(text[: match.start()]) or re.match(_DOTS, comment)
    return telling is not None and _stands_for_code(comment)


def _stands_for_code(comment: str) -> bool:
    """Tell whether a comment says that code was omitted."""
    words = _words(comment)
    if not words or len(words.split()) > _MOST_WORDS:
        return False
    lead, tail = (
        re.search(pattern, comment.strip("[](){}<> -*")) for pattern in (rf"^{_DOTS}", rf"{_DOTS}$")
    )
    if lead and tail:
        return True
    pattern = _WITH_DOTS if lead or tail else _WHOLE
    return pattern.fullmatch(words) is not None


def _words(text: str) -> str:
    """Return the bare words of a comment: ``[... rest of the code ...]`` → ``rest of the code``."""
    plain = text.lower().replace("…", "...").strip(" \t.[](){}<>-*:!,;#/")
    return re.sub(r"\s*[,():;]\s*|\s+", " ", plain).strip()


def _has_bare_ellipsis(text: str, language: str) -> bool:
    return _BARE.match(text) is not None or (language == "python" and bool(re.search(r":\s*\.\.\.$", text)))


def _is_of_the_language(code: Sequence[str], number: int, language: str) -> bool:
    """Tell whether an ellipsis is syntax: variadic arguments, a doctest, the end of YAML."""
    text = code[number].strip()
    before = next((line.strip() for line in reversed(code[:number]) if line.strip()), "")
    after = next((line.strip() for line in code[number + 1 :] if line.strip()), "")
    is_last = not after or after.startswith((")", "]", ">", ","))
    if text == "..." and (before.startswith(_DOCTEST) or (before.endswith((",", "(", "[")) and is_last)):
        return True
    if language == "yaml":
        rest = [line for line in code[number + 1 :] if line.strip()]
        return code[number].rstrip() == "..." and (not rest or rest[0].startswith(("---", "%")))
    return False


def _is_python_body(code: Sequence[str], number: int, known: Sequence[str], *, all_replaced: bool) -> bool:
    """Tell whether a ``...`` is a legitimate block body.

    New functions, overloads, abstract methods and protocols may have one. A function with a body in the
    original may not, even under another name.
    """
    header = number if _ONE_LINER.search(code[number].rstrip()) else _header_of(code, number)
    if header is None:
        return False
    if _is_stub(code, header):
        return True
    name = _DEFINITION.match(code[header])
    if name is None:
        first = code[header].strip()
        is_short = header == number or first.startswith("except")
        return is_short and not any(line.strip() == first for line in known)
    if _has_body(known, _scope(code, header)):
        return False
    return not (all_replaced and name["kind"] == "def" and _lacks(code, known))


def _lacks(code: Sequence[str], known: Sequence[str]) -> bool:
    """Tell whether the code omits a function that has a body in the original."""
    names = {match["name"] for line in code if (match := _DEFINITION.match(line))}
    return any(
        match["kind"] == "def" and match["name"] not in names and _body_at(known, number)
        for number, line in enumerate(known)
        if (match := _DEFINITION.match(line))
    )


def _enclosing(code: Sequence[str], number: int) -> Iterator[str]:
    """Yield the lines that enclose a line by indentation, innermost first."""
    width = width_of(code[number])
    for line in reversed(code[:number]):
        if line.strip() and width_of(line) < width and not line.lstrip().startswith(("#", ")")):
            width = width_of(line)
            yield line


def _scope(code: Sequence[str], number: int) -> list[tuple[str, str]]:
    """Return kind and name of a definition and of the enclosing ones, innermost first."""
    lines = chain([code[number]], _enclosing(code, number))
    found = [match for line in lines if (match := _DEFINITION.match(line))]
    return [(match["kind"], match["name"]) for match in found]


def _header_of(code: Sequence[str], number: int) -> int | None:
    """Return the first line of a block that contains only this line's ellipsis; None without one."""
    width = width_of(code[number])
    after = next((line for line in code[number + 1 :] if line.strip()), None)
    if after is not None and width_of(after) >= width:
        return None
    inside: list[str] = []
    for index in range(number - 1, -1, -1):
        line = code[index]
        if line.strip() and width_of(line) < width and not line.strip().startswith("#"):
            ends_header = line.split("#")[0].rstrip().endswith(":")
            return _start_of_header(code, index) if ends_header and _only_docstring(inside) else None
        inside.insert(0, line)
    return None


def _start_of_header(code: Sequence[str], end: int) -> int:
    """Return the first line of a signature that spans several lines."""
    width = width_of(code[end])
    if not code[end].strip().startswith(")"):
        return end
    return next((i for i in range(end - 1, -1, -1) if code[i].strip() and width_of(code[i]) <= width), end)


def _only_docstring(lines: list[str]) -> bool:
    text = "\n".join(line for line in lines if not line.strip().startswith("#")).strip()
    return (
        not text
        or re.fullmatch(r'[rR]?(?:"""(?:(?!""").)*"""|"[^"\n]*"|\'\'\'.*\'\'\')', text, re.DOTALL) is not None
    )


def _is_stub(code: Sequence[str], header: int) -> bool:
    width = width_of(code[header])
    for line in reversed(code[:header]):
        if line.strip().startswith("@") and width_of(line) == width:
            if _MEANS_STUB.search(line):
                return True
        else:
            break
    return _STUB_CLASS.match(next(_enclosing(code, header), "")) is not None


def _has_body(known: Sequence[str], scope: list[tuple[str, str]]) -> bool:
    """Tell whether the original defines this name with more than an ellipsis.

    Code without its class matches a method of any class.
    """
    for number, line in enumerate(known):
        match = _DEFINITION.match(line)
        if match is None or (match["kind"], match["name"]) != scope[0] or not _body_at(known, number):
            continue
        there = [*_scope(known, number), ("module", "")]
        if len(there) == 2 and width_of(line):
            there.pop()  # the class is outside the known lines
        least = min(len(there), len(scope))
        if there[:least] == scope[:least]:
            return True
    return False


def _body_at(known: Sequence[str], number: int) -> bool:
    """Tell whether the definition on a line has more than an ellipsis as its body."""
    line = known[number]
    if _ONE_LINER.search(line.rstrip()):
        return False
    width = width_of(line)
    body = []
    for inner in known[number + 1 :]:
        if inner.strip() and width_of(inner) <= width and not inner.strip().startswith(")"):
            break
        body.append(inner.strip())
    # a stub with a signature of several lines has the ellipsis after the last one
    return not any(text == "..." or (text.startswith(")") and _ONE_LINER.search(text)) for text in body)
