"""Obfuscation of state names: keyed tokens in texts and definitions, and the reverse lookup."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tideate_core.errors import MachineError, UnknownToken, did_you_mean
from tideate_core.machines.language.definition import BOUNDARY, MachineDefinition, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KEY_BYTES: Final = 16
"""Shorter keys could be guessed."""

PREFIX: Final = "obf_"
DIGITS: Final = 12
TRIES: Final = 10_000
LONG: Final = 4
"""Minimum length of names that are also hidden inside longer words."""

_TOKEN: Final = rf"{PREFIX}[0-9a-f]{{{DIGITS}}}(?!\w)"
_DASHES: Final = r"_\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d\uff3f"
_MARKS: Final = rf"{_DASHES}./\\:+~|\u00b7"
_GAP: Final = re.compile(rf"[\s{_MARKS}]+")
# dashes with blanks or marks: the end of a sentence and the next word are not a name
_FOUND_GAP: Final = (
    r"(?>[\s{dashes}]{{{least},40}}(?=[^\W_])|[{marks}]{{{least},40}}(?=[^\W_]))(?!(?<!\w){token})"
)
_EDGE: Final = r"\\?_"
"""An underscore at an end of a name; Markdown may escape it with a backslash."""
_ENDINGS: Final = r"(?:_?\d+)?(?:['\u2019]?s)?"
"""Endings of a short name: number, plural, genitive."""
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
)
# `re.IGNORECASE` matches these letters, but `casefold` does not fold them
_FOLDS: Final = str.maketrans({"\u0130": "i", "\u0131": "i"})
_NESTING: Final = 20


class Obfuscator:
    """Tokens for the states of one workflow; they depend only on key and workflow.

    The key is not stored: only its owner can create an object that reveals tokens.

    :param key: at least 16 secret bytes.
    :raises ValueError: the key is shorter.
    """

    def __init__(self, key: bytes, definition: MachineDefinition) -> None:
        if len(key) < KEY_BYTES:
            raise ValueError(f"an obfuscation key needs at least {KEY_BYTES} bytes, this one has {len(key)}")
        self._definition = definition
        tokens = _tokens(key, definition.name, definition.states)
        self._tokens = {name: tokens[name] for name in definition.states}
        self._names = {token: name for name, token in tokens.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(workflow={self._shown_name!r}, states={len(self._tokens)})"

    @property
    def tokens(self) -> Mapping[str, str]:
        """Tokens by name, in file order."""
        return MappingProxyType(self._tokens)

    def token(self, name: str) -> str:
        """Return a state's token; `*` stays `*`.

        :raises MachineError: the workflow has no such state.
        """
        if name == BOUNDARY:
            return name
        if name not in self._tokens:
            raise MachineError(
                f"workflow {self._definition.name!r} has no state {name!r}{did_you_mean(name, self._tokens)}"
            )
        return self._tokens[name]

    def reveal(self, token: str) -> str:
        """Return the name of a token's state.

        :raises UnknownToken: the token belongs to another key or workflow. The message contains no names.
        """
        if token == BOUNDARY:
            return token
        if token not in self._names:
            raise UnknownToken(
                f"{token!r} is not a token of workflow {self._shown_name!r} with this key; "
                "use the key and the file that it was made with"
            )
        return self._names[token]

    def hide(self, text: str) -> str:
        """Replace state names in a text; existing tokens stay.

        A name matches in any case, with blanks, dashes, dots, slashes or escaped underscores in place of its
        underscores, and with invisible characters in it. A name of four or more characters also takes the
        word around it, a shorter name its plural: no readable rest remains beside the token.
        """
        if not self._tokens:
            return text
        seen = _INVISIBLE.sub("", text)
        if len(seen) != len(text):
            text = self._hide_seen(text, seen)
        return self._pattern.sub(self._hidden, text)

    def definition(self) -> MachineDefinition:
        """Return the machine with tokens, without positions: columns would reveal the names' lengths."""
        states = {
            self._tokens[name]: State(self._tokens[name], self.hide(state.guidance))
            for name, state in self._definition.states.items()
        }
        transitions = tuple(
            transition._replace(
                source=self.token(transition.source),
                target=self.token(transition.target),
                when=self.hide(transition.when),
                guidance=self.hide(transition.guidance),
                line=0,
                target_column=0,
            )
            for transition in self._definition.transitions
        )
        return MachineDefinition(self._shown_name, states, transitions)

    @cached_property
    def _shown_name(self) -> str:
        """The workflow's name with state names hidden."""
        return self.hide(self._definition.name)

    def _hide_seen(self, text: str, seen: str) -> str:
        """Hide names with invisible characters in them; text between the names is unchanged."""
        places = [at for at, char in enumerate(text) if not _INVISIBLE.match(char)]
        parts: list[str] = []
        end = 0
        for match in self._pattern.finditer(seen):
            token = self._hidden(match)
            if token != match[0]:
                parts += (text[end : places[match.start()]], token)
                end = places[match.end() - 1] + 1
        return "".join(parts) + text[end:]

    def _hidden(self, match: re.Match[str]) -> str:
        found = match["long"] or match["short"]
        if found:
            return self._tokens[self._named(found)]
        word = match[0]
        if word in self._names:
            return word
        # not a known token, so that a name may be in it by chance
        inside = [name for name in self._tokens if _is_long(name) and _fold(name) in _fold(word)]
        return self._tokens[max(inside, key=len)] if inside else word

    def _named(self, found: str) -> str:
        if found in self._tokens:
            return found
        return next(self._spellings[key] for key in _spellings(found) if key in self._spellings)

    @cached_property
    def _spellings(self) -> Mapping[str, str]:
        spellings: dict[str, str] = {}
        for rank in range(3):
            for name in sorted(self._tokens):
                spellings.setdefault(_spellings(name)[rank], name)
        return spellings

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        long = _any_of(name for name in self._tokens if _is_long(name))
        short = _any_of(name for name in self._tokens if not _is_long(name))
        # starts only at the start of a word: each word is scanned once
        return re.compile(
            rf"(?<!\w)(?:{_TOKEN}|\w*?(?P<long>{long})\w*|(?P<short>{short}){_ENDINGS}(?!\w))", re.IGNORECASE
        )


def _tokens(key: bytes, workflow: str, names: Iterable[str]) -> dict[str, str]:
    """Make the tokens in order of the sorted names, so that the file's order does not matter."""
    readable = {spelling for name in names if _is_long(name) for spelling in _spellings(name)}
    given: dict[str, str] = {}
    used: set[str] = set()
    for name in sorted(names):
        own = {piece for piece in _pieces(_fold(name), 3) if re.search(r"[^\W\d_]", piece)}
        for count in range(TRIES):
            digits = _digest(key, workflow, name, count)
            token = PREFIX + digits
            if token in used or own & _pieces(digits, 3) or _shows(token, readable):
                continue
            given[name] = token
            used.add(token)
            break
        else:
            raise MachineError(f"every token of {name!r} shows a name of {workflow!r}; rename the state")
    return given


def _digest(key: bytes, workflow: str, name: str, count: int) -> str:
    message = json.dumps(["tideate", workflow, name, count]).encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()[:DIGITS]


def _pieces(text: str, length: int) -> set[str]:
    return {text[at : at + length] for at in range(len(text) - length + 1)}


def _shows(token: str, readable: set[str]) -> bool:
    return any(not readable.isdisjoint(_pieces(token, length)) for length in range(LONG, len(token) + 1))


def _is_long(name: str) -> bool:
    # every token starts with the prefix: a state with exactly that name can only be hidden as a word
    return len(name) >= LONG and _fold(name) != PREFIX


def _fold(text: str) -> str:
    return text.translate(_FOLDS).casefold()


def _spellings(name: str) -> tuple[str, str, str]:
    folded = _fold(name)
    plain = folded.replace("\\", "")
    core = plain.strip("_")
    before, _, after = plain.partition(core) if core else ("", "", plain)
    return folded, before + _GAP.sub("_", core) + after, before + _GAP.sub("", core) + after


def _any_of(names: Iterable[str]) -> str:
    """Return a pattern that matches the longest of some names; `(?!)` for none."""
    spelled = {_atoms(name) for name in names}
    return _tree(sorted(spelled), _NESTING) if spelled else "(?!)"


def _atoms(name: str) -> tuple[str, ...]:
    core = name.strip("_")
    if not core:
        return (_EDGE,) * len(name)
    before, _, after = name.partition(core)
    # an optional gap makes `RefineProject` a spelling of `refine_project`
    least = 0 if _is_long(name) else 1
    gap = _FOUND_GAP.format(dashes=_DASHES, marks=_MARKS, least=least, token=_TOKEN)
    atoms = [gap if part[0] == "_" else re.escape(_fold(part)) for part in re.findall(r"_+|[^_]", core)]
    return (*(_EDGE for _ in before), *atoms, *(_EDGE for _ in after))


def _tree(names: Sequence[tuple[str, ...]], nesting: int) -> str:
    """Return the names as a tree of alternatives, so that few are tried at each position."""
    shared = 0
    while all(len(name) > shared and name[shared] == names[0][shared] for name in names):
        shared += 1
    head, tails = "".join(names[0][:shared]), [name[shared:] for name in names]
    if len(tails) == 1:
        return head
    if not nesting:
        return head + "(?:" + "|".join("".join(tail) for tail in sorted(tails, key=len, reverse=True)) + ")"
    groups: dict[str, list[tuple[str, ...]]] = {}
    for tail in filter(None, tails):
        groups.setdefault(tail[0], []).append(tail)
    # a gap may be empty: letters first
    keys = sorted(groups, key=lambda key: (len(key) > 2, key))
    branches = "|".join(_tree(groups[key], nesting - 1) for key in keys)
    return f"{head}(?:{branches})" + ("" if all(tails) else "?")
