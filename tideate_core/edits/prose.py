"""Telling sentences to a person from code, where an answer has no fence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tideate_core.edits.indent import strip_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_chatty", "is_sentence", "looks_like_code"]

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
"""One line in so many may be a sentence (in a string or a docstring)."""


def is_chatty(line: str) -> bool:
    """Whether a line is how models begin or end an answer: ``Here is the code:``."""
    return _CHATTY.match(line.replace("\u2019", "'").strip().lstrip("*_# ")) is not None


def is_sentence(line: str) -> bool:
    """Whether a line reads as a sentence rather than as code or as a comment."""
    text = line.strip()
    if not text or text.startswith(_COMMENT) or _KEYWORDS.match(text):
        return False
    if is_chatty(text) and not re.search(r"[=;{]|\w\(", text.replace("`", "")):
        return True
    return len(text.split()) >= _LEAST_WORDS and _SENTENCE.match(text) is not None


def looks_like_code(lines: Sequence[str], old: Sequence[str]) -> bool:
    """Whether lines without a fence are code from the first to the last."""
    first, last = strip_edges(lines)
    filled = [line for line in lines[first:last] if line.strip()]
    if not filled:
        return False
    seen = {line.strip() for line in old if line.strip()}
    strange = [line for line in filled if line.strip() not in seen]
    if any(is_sentence(line) and line in strange for line in (filled[0], filled[-1])):
        return False
    sentences = sum(is_sentence(line) for line in strange)
    if sentences * _MOST_SENTENCES > len(filled):
        return False
    return any(line.strip() in seen or _CODE.search(line) for line in filled)
