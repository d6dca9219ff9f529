"""Texts with hidden characters, for dialogs that must show them."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

__all__ = ["HIDDEN", "LONG", "LOOKALIKES", "original", "tagged", "taken", "unseen"]

HIDDEN: Final[dict[str, str]] = {
    "cursor up, line erased": "ls\x1b[1A\x1b[2Krm",
    "cursor to the top": "\x1b[Hfine",
    "screen erased": "\x1b[2Jfine",
    "colour of the background": "ls\x1b[8mrm\x1b[0m",
    "link": "\x1b]8;;http://evil.example\x07docs\x1b]8;;\x07",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "title": "\x1b]0;trusted\x07",
    "device control string": "\x1bP+q544e\x9c",
    "report asked for": "\x1b[6n",
    "terminal reset": "\x1bc",
    "C1 sequence": "\x9b2Jfine",
    "C1 title": "\x9d0;x\x9c",
    "next line": "ls\x85rm",
    "backspaces": "rm\x08\x08ls",
    "carriage return": "rm\rls",
    "null": "ls\x00rm",
    "delete": "rm\x7f\x7fls",
    "form feed": "ls\x0crm",
    "vertical tab": "ls\x0brm",
    "shift out": "ls\x0erm",
    "line separator": "ls\u2028rm",
    "paragraph separator": "ls\u2029rm",
    "right to left": "if a\u202e{ cod",
    "left to right": "a\u202db",
    "embedding": "a\u202bb\u202cc",
    "isolate": "x\u2067 y \u2069",
    "first strong isolate": "x\u2068y\u2069",
    "mark of direction": "a\u200fb\u200ec\u061cd",
    "zero width blank": "rm\u200b -rf",
    "joiner in a word": "pay\u200dpal",
    "non-joiner in a word": "pay\u200cpal",
    "word joiner": "pay\u2060pal",
    "byte order mark": "\ufeffls",
    "soft hyphen": "pay\xadpal",
    "invisible operator": "a\u2062b",
    "Hangul filler": "a\u3164= b",
    "Hangul jungseong filler": "a\u1160b",
    "narrow filler": "a\uffa0b",
    "blank of Braille": "a\u2800b",
    "blank that does not break": "rm\xa0-rf",
    "em quad": "rm\u2001-rf",
    "ideographic blank": "rm\u3000-rf",
    "Ogham blank": "rm\u1680-rf",
    "Mongolian separator": "a\u180eb",
    "grapheme joiner": "a\u034fb",
    "letter struck through": "o\u0338k",
    "letter enclosed": "n\u20e0o",
    "accent apart from its letter": "cafe\u0301",
    "pile of marks": "a" + "\u0300\u0301" * 4,
    "pile of Thai marks": "\u0e01" + "\u0e49" * 7,
    "form of a letter": "a\ufe0fb",
    "bytes in forms": "\U0001f642\ufe01\ufe02\ufe03",
    "bytes in tags": "ok\U000e0072\U000e006d",
    "more forms": "a\U000e0100b",
    "private sign": "a\ue0b0b",
    "half a pair": "a\ud800b",
    "annotation": "a\ufff9b\ufffac\ufffb",
    "sign without a shape": "a\U0001d159b",
    "object": "a\ufffcb",
    "no character": "a\uffffb",
    "hieroglyphs stacked": "a\U00013430b",
}
"""What is not seen, by what it does."""

LOOKALIKES: Final[dict[str, str]] = {
    "host with a Cyrillic letter": "https://p\u0430ypal.com/x",
    "host of Cyrillic letters": "https://\u0430\u0440\u0440\u04cf\u0435.com",
    "path of Cyrillic letters": "src/\u0441\u043e\u0440\u0443.py",
    "path with a Greek letter": "src/app\u03bf.py",
    "wide letters": "\uff47\uff49\uff54.com",
    "letters of mathematics": "\U0001d422\U0001d427\U0001d41d\U0001d41e\U0001d431.js",
    "Cherokee letters": "\u13a0\u13a2N.sh",
    "Lisu letter": "\ua4eeB.c",
    "Roman numeral": "\u216dat.txt",
    "dotless i": "g\u0131t",
    "long s": "pa\u017fs",
    "Kelvin sign": "\u212aey.pem",
    "phonetic g": "\u0261it/config",
    "click for a bang": "#\u01c3sh",
    "slash of a fraction": "good.com\u2044x.evil.com",
    "slash of a division": "good.com\u2215x.evil.com",
    "wide slash": "etc\uff0fpasswd",
    "dot that leads": "example\u2024com",
    "ratio for a colon": "file\u2236x",
    "letter colon": "https\ua789x",
    "hyphen": "apt\u2010get",
    "minus": "apt\u2212get",
}
"""Names that look like others."""

LONG: Final[dict[str, str]] = {
    "blanks": "ls" + " " * 5000 + "; rm -rf ~",
    "tabs": "ls" + "\t" * 3000 + "; rm -rf ~",
    "line ends": "ls" + "\n" * 200 + "; rm -rf ~",
    "letters": "x" * 15_010 + "; rm -rf ~",
    "wide letters": "\ufdfd\u3042" * 3000 + "; rm -rf ~",
    "lines": "\n".join(f"line {number}" for number in range(150)) + "\n; rm -rf ~",
}
"""Texts whose end is far away."""

_ESCAPE: Final = re.compile(r"\\(n|r|t|\\|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_NAMED: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def tagged(name: str, text: str) -> str:
    """Return a text with its number before and after it, to be found in a dialog."""
    number = [*HIDDEN, *LOOKALIKES].index(name)
    return f"{number:02d}< {text} >{number:02d}"


def taken(name: str, shown: str) -> str:
    """Return the replacement of a tagged text."""
    number = [*HIDDEN, *LOOKALIKES].index(name)
    begin, end = f"{number:02d}< ", f" >{number:02d}"
    assert begin in shown, f"{name} is not shown:\n{shown[-2000:]}"
    return shown.split(begin)[1].split(end)[0]


def original(shown: str) -> str:
    """Return the text that was escaped."""
    return _ESCAPE.sub(lambda found: _NAMED.get(found[1]) or chr(int(found[1][1:], 16)), shown)


def unseen(text: str) -> list[str]:
    """Return the invisible characters, by Unicode category."""
    return [
        json.dumps(one)
        for one in text
        if unicodedata.category(one)[0] == "C" or (one != " " and one.isspace())
    ]
