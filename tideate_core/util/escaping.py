"""Escape untrusted text for display: characters that control, hide or reorder text.

`lua/tideate/ui/escaping.lua` does the same in the editor with the same tables; a test compares them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_NAMED: Final = 100
"""Paths of one group that a log names."""
HIDDEN: Final = "[a value that seems to be a secret]"
HIDDEN_LINE: Final = "[a line that seems to hold a secret]"
"""Placeholder for any secret, so that it reveals neither kind nor length."""

_RANGES: Final = (
    # controls except tab and line feed; blanks except the space; marks that join, hide or reorder
    "\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u070f\u1680\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\ufe00-\ufe0f\ufeff\ufff0-\ufffc\ufffe\uffff\U00013430-\U00013455\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # letters and signs without a shape
    "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159"
    # marks over any letter, which may cover it
    "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
    # lone surrogates, and characters that each font draws differently
    "\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff"
)
_MARKS: Final = (
    "\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0730-\u074a\u0900-\u0902\u093c\u0941-\u0948"
    "\u094d\u0951-\u0957\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84"
)
"""Marks of scripts that need them; a pile of them covers neighbouring lines."""
_LOOKS: Final = (
    # Cyrillic, Greek, Armenian
    "\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c-\u041e\u0420-\u0423\u0425\u0430\u0435\u043e\u0440"
    "\u0441\u0443\u0445\u0455\u0456\u0458\u0474\u0475\u04ae\u04af\u04bb\u04c0\u04cf\u0501\u050c\u051a-\u051d"
    "\u037f\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b3\u03b9"
    "\u03ba\u03bd\u03bf\u03c1\u03c5\u03c7\u03f2\u03f3\u03f9\u054d\u0555\u0566\u0570\u0578\u057d\u0581\u0585"
    # letters of other alphabets and of phonetics, and whole look-alike alphabets
    "\u0131\u017f\u01c0\u01c3\u0251\u0261\u0269\u026a\u028f\u029f\u13a0-\u13f5\u1d00-\u1d2b\u210e\u2113\u212a"
    "\u212e\u2160-\u217f\u2c80-\u2cff\ua4d0-\ua4ff\uab70-\uabbf\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"
    "\U0001d400-\U0001d7ff"
)
"""Letters that look like ASCII letters."""
_SIGNS: Final = (
    "\u02bc\u02d0\u037e\u0387\u0589\u2010-\u2012\u2024\u2044\u2212\u2215\u2216\u2236\u2571\u2572\u29f5\u29f8"
    "\ua789\ufe52\ufe55\ufe63\ufe68\uff0e\uff0f\uff3c"
)
"""Signs that look like those in paths, options and hosts."""
_LETTERS: Final = (
    "A-Za-z\u00c0-\u02ff\u0370-\u0482\u048a-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u1d00-\u1dbf\u1e00-\u1fff"
    "\u2c60-\u2cff\ua640-\ua69f\ua720-\ua7ff\uab30-\uabbf"
)
_EMOJI: Final = "\u2190-\u27ff\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINED: Final = "\u0600-\u06ff\u0900-\u0dff"
"""Scripts that use joiners."""

_ODD: Final = re.compile(rf"[{_RANGES}{_MARKS}]+")
_ONE_LINE: Final = re.compile(rf"[{_RANGES}{_MARKS}{_SIGNS}\n\t]+")
_MARK: Final = re.compile(rf"[{_MARKS}]")
_EMOJI_SIGN: Final = re.compile(rf"[{_EMOJI}]")
_JOINABLE: Final = re.compile(rf"[{_JOINED}]")
_PLAIN: Final = re.compile(r"[\n\t -~]*")
_SUSPECT: Final = re.compile(rf"[{_LOOKS}{_SIGNS}]")
_TOKEN: Final = re.compile(r"[^ \t\n]+")
_WORD: Final = re.compile(rf"[{_LETTERS}{_LOOKS}]+")
_ASCII: Final = re.compile("[A-Za-z]")
_WHOLLY: Final = re.compile(rf"[{_LOOKS}]+")
_LOOK: Final = re.compile(rf"[{_LOOKS}]")
_SIGN: Final = re.compile(rf"(?<=[A-Za-z0-9.])[{_SIGNS}](?=[A-Za-z0-9.])")
_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_RUN: Final = re.compile(r" {100,}|\t{25,}|\n{25,}")
_EMOJI_FORM: Final = "\ufe0f"
_KEYCAP: Final = "\u20e3"
_KEYS: Final = frozenset("0123456789#*")
_JOINER: Final = "\u200d"
_JOINERS: Final = frozenset("\u200c\u200d")
MOST_MARKS: Final = 3
"""Most marks on one letter of the scripts in `_MARKS`."""

_NAMED: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str) -> str:
    """Escape characters that control, hide or reorder text, and letters that imitate ASCII.

    Line feeds and tabs stay. Imitating letters are escaped in words that also have ASCII letters, and in
    words of only such letters next to ASCII ones, as in a path or an address.
    """
    return _shown(text, _ODD, escape, strict=False, kept=_is_kept)


def one_line(text: str) -> str:
    """Return untrusted text on one line, so that it cannot start a line of tideate's own."""
    return shortened_runs(visible(text)).replace("\n", r"\n")


def label(name: object) -> str:
    """Return a name, path or address on one line; distinct names stay distinct.

    Backslashes are doubled, so that they differ from escapes.
    """
    return _shown(str(name).replace("\\", "\\\\"), _ONE_LINE, escape, strict=True)


def counted(**groups: Sequence[str]) -> str:
    """Return the paths of each group with their number, for a log: `2 written: a.py, b.py; 1 left: c.py`."""
    said = []
    for how, names in groups.items():
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        said += [f"{len(names)} {how}: {', '.join(map(label, names[:MOST_NAMED]))}{more}"] if names else []
    return "; ".join(said)


def visible_json(value: Any) -> str:
    r"""Return a value as JSON that shows every character, odd ones as ``\uXXXX``."""

    def string(found: re.Match[str]) -> str:
        return _shown(found[0], _ODD, _json_escape, strict=" " not in found[0])

    return _STRING.sub(string, json.dumps(value, indent=2, ensure_ascii=False))


def shortened_runs(text: str) -> str:
    r"""Shorten long runs of blanks or line feeds to ``\n{200}``: they would hide the following text."""
    return _RUN.sub(_counted, text)


def escape(character: str) -> str:
    r"""Escape a character as ``\n``, ``\x1b``, ``\u202e`` or ``\U000e0041``; a non-UTF-8 byte as ``\xff``."""
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if 0xDC80 <= code <= 0xDCFF:  # Python's form of such a byte
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character > "\x7f" else f"\\u{ord(character):04x}"


def _shown(
    text: str,
    odd: re.Pattern[str],
    form: Callable[[str], str],
    *,
    strict: bool,
    kept: Callable[[str, int], bool] = lambda text, at: False,
) -> str:
    """Escape odd characters.

    :param kept: whether a character belongs to a sign that is shown unchanged.
    """
    if odd is _ODD and _PLAIN.fullmatch(text):
        return text
    text = _unmasked(text, form, strict=strict)

    def escaped(run: re.Match[str]) -> str:
        shown, marks = [], 0
        for at, character in enumerate(run[0], run.start()):
            is_mark = _MARK.match(character) is not None
            marks = marks + 1 if is_mark else 0
            seen = _is_seen(text, at, marks) if is_mark else kept(text, at)
            shown.append(character if seen else form(character))
        return "".join(shown)

    return odd.sub(escaped, text)


def _is_seen(text: str, at: int, marks: int) -> bool:
    """Return whether a mark belongs to its letter rather than to a pile."""
    base = text[at - marks] if at >= marks else ""
    return base > "\x7f" and marks <= MOST_MARKS


def _is_kept(text: str, at: int) -> bool:
    """Return whether a character only selects the form of an adjacent sign or letter."""
    before, after, character = text[max(0, at - 2) : at], text[at + 1 : at + 2], text[at]
    bare = before[:-1] if before[-1:] == _EMOJI_FORM else before
    if character == _EMOJI_FORM:
        return bool(_EMOJI_SIGN.match(before[-1:])) or (before[-1:] in _KEYS and after == _KEYCAP)
    if character == _KEYCAP:
        return before[-1:] == _EMOJI_FORM and bare in _KEYS
    if character in _JOINERS and _JOINABLE.match(before[-1:]) and _JOINABLE.match(after):
        return True
    return character == _JOINER and bool(_EMOJI_SIGN.match(bare[-1:])) and bool(_EMOJI_SIGN.match(after))


def _unmasked(text: str, form: Callable[[str], str], *, strict: bool) -> str:
    """Escape letters and signs that imitate ASCII.

    :param strict: also in stand-alone words of only such letters.
    """
    if text.isascii() or not _SUSPECT.search(text):
        return text

    def escaped(found: re.Match[str]) -> str:
        return form(found[0])

    def in_token(token: re.Match[str]) -> str:
        if not _SUSPECT.search(token[0]):
            return token[0]
        alone = strict or bool(_ASCII.search(token[0]))

        def in_word(word: re.Match[str]) -> str:
            pretends = _ASCII.search(word[0]) or (alone and _WHOLLY.fullmatch(word[0]))
            return _LOOK.sub(escaped, word[0]) if pretends else word[0]

        return _SIGN.sub(escaped, _WORD.sub(in_word, token[0]))

    return _TOKEN.sub(in_token, text)


def _counted(run: re.Match[str]) -> str:
    named = {" ": r"\x20", "\t": r"\t", "\n": r"\n"}[run[0][0]]
    around = "\n" if run[0][0] == "\n" else " "
    return f"{around}{named}{{{len(run[0])}}}{around}"
