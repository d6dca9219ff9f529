"""Detect probable secrets by file name, text pattern or outside hard link; hide them in a text.

False positives are preferred: they only cause a question.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Mapping
from fnmatch import translate
from functools import cache, lru_cache
from pathlib import PurePosixPath
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any, Final

from tideate_core.util.cutting import CUT
from tideate_core.util.escaping import HIDDEN, HIDDEN_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Set as AbstractSet
    from pathlib import Path

HIDES_LINES: Final = "it seems to hold secrets"
"""Reason shown to a model; only the person is told the line."""
_NAMES: Final = (
    *(".env", ".env.*", ".env[-_ ]*", "*.env", ".envrc", ".flaskenv", ".secrets", "secrets", ".token"),
    *("*.pem", "*.key", "*.ppk", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.keytab", "*.kdbx"),
    *("*.asc", "*.gpg", "*.ovpn", "*_rsa", "*_dsa", "*_ecdsa", "*_ed25519"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "private_key", "privkey"),
    *(
        ".netrc",
        "_netrc",
        ".authinfo",
        ".pgpass",
        ".my.cnf",
        ".mylogin.cnf",
        ".s3cfg",
        ".boto",
        ".rclone.conf",
    ),
    *(".htpasswd", "htpasswd", "passwd", "passwords", "shadow", ".vault-token", ".vault_pass*"),
    *(
        ".npmrc",
        ".yarnrc.yml",
        ".pypirc",
        ".git-credentials",
        ".dockercfg",
        ".dockerconfigjson",
        ".terraformrc",
    ),
    *("credentials", "kubeconfig", "*.tfstate", "*.tfvars", "accesskeys.csv", "rootkey.csv"),
    *(".bash_history", ".zsh_history", ".sh_history", ".psql_history", ".mysql_history", ".python_history"),
)
_LISTED: Final = re.compile("|".join(map(translate, _NAMES)))
_PARENTS: Final = frozenset(
    {
        *((".docker", "config.json"), (".kube", "config"), (".aws", "config"), (".ssh", "config")),
        *(
            ("gh", "hosts.yml"),
            (".m2", "settings.xml"),
            (".gradle", "gradle.properties"),
            (".composer", "auth.json"),
        ),
    }
)
_FOLDERS: Final = frozenset({".ssh", ".aws", ".gnupg", ".azure", ".password-store"})
"""Directories whose whole content is secret."""
_DATA_NAME: Final = re.compile(
    r"(?:^|[._-])(?:credentials?|secrets?|passwords?|service[._-]?account|token|api[._-]?keys?|private[._-]?keys?)"
    r"(?:[._-]|$)"
)
_DATA: Final = frozenset(
    {".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".csv", ".txt", ".xml", ".properties"}
)
_HARMLESS: Final = (".example", ".sample", ".template", ".dist", ".pub")
_COPY: Final = re.compile(r"(?:~|\.(?:backup|bak|copy|old|orig|rej|save|sw[a-p]|tmp|[0-9]{1,4})|[ .]+)$")
"""Suffix of a copy or backup made by an editor, a tool or a person."""

_HEAD_OF_KEY: Final = r"(?:-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d)"
_END_OF_KEY: Final = r"(?:-----END [A-Z0-9 ]{0,60}(?:-----)?|Private-MAC:[^\n]{0,200})"
_LINES_OF_KEY: Final = (
    # joined by spaces or escapes, else separate lines
    r"(?:(?: |\\[nr])+[A-Za-z0-9+/=]{8,})*"
    r"(?:[^\n]*\n)??(?:(?:\d{1,7}[\t:-])?[-+> ]?"
    r"(?:[A-Za-z-]{1,40}: [^\n]*|[A-Za-z0-9+/=]+(?: ?\[?…[^\n]*)?)?\r?(?:\n|\Z))*"
)
"""Lines that look like a key, after the head of a key without an end."""
_BEGIN: Final = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[abfnrtv0])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})"
    r"|(?<=\\u[0-9A-Fa-f]{4})|(?<=\[\dm)|(?<=\[\d\dm))"
)
"""Start of a word, or of the text after an escape: `\n`, `%3D`, `\x1b`, `\u003d`."""
_TAIL_OF_KEY: Final = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?:-----)?")
_LETTERS_OF_KEY: Final = f"{ascii_letters}{digits}+/=\\"
_SIGNS_OF_LINE: Final = re.compile(r"(?:\d{1,7}[\t:-])?[-+> ]?")
_LINE_OF_KEY: Final = re.compile(r"(?:\d{1,7}[\t:-])?[-+> ]?[A-Za-z0-9+/=]+\r?\n")
_WORDS: Final = r"[A-Za-z0-9_.-]++"
_AT_CUT: Final = re.compile(
    rf"{_BEGIN}(?P<part>(?:A[KSBC][IC]A[0-9A-Z]++|gh[pousr]_{_WORDS}|github_pat_{_WORDS}|glpat-{_WORDS}"
    rf"|xox[abeoprs]-{_WORDS}|xapp-{_WORDS}|AIza{_WORDS}|[rs]k_live_{_WORDS}|[gs]sk_{_WORDS}|sk-{_WORDS}"
    rf"|xai-{_WORDS}|pplx-{_WORDS}|r8_{_WORDS}|npm_{_WORDS}|pypi-{_WORDS}|hf_{_WORDS}|SG[.]{_WORDS}|eyJ{_WORDS}"
    rf"|AGE-SECRET-KEY-1{_WORDS}|do[opr]_v1_{_WORDS}|dckr_[po]at_{_WORDS}|hvs[.]{_WORDS}|\d{{8,10}}:AA{_WORDS}"
    r"|(?:AccountKey|[A-Z0-9_]{0,80}(?:PASSWORDS?|PASSWD|SECRETS?|KEY|TOKEN)|[a-z_-]{0,40}(?:token|secret|key))"
    rf"=[^\s{CUT}]++|[a-z][a-z0-9+.-]{{1,20}}://[^\s:/@{CUT}]++:(?!\d{{1,5}}[^\w])[^\s:/@{CUT}]++))"
    rf"(?P<cut>\s{{0,2}}\[?{CUT})?"
)
"""Beginning of a secret, optionally followed by the mark of a cut."""
_TEXTS: Final[Mapping[str, str]] = {
    # tokens with distinctive prefixes also match within words, after escapes and colour codes
    # the whole key: its middle lines are as secret as its head
    "a private key": rf"{_HEAD_OF_KEY}[\s\S]*?(?:{_END_OF_KEY}|\Z)",
    "an AWS access key": (
        rf"{_BEGIN}(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{{16}}(?![0-9A-Z])"
        r"|(?:AKIA|ASIA|ABIA|ACCA)(?=[A-Z]{0,15}[0-9])[0-9A-Z]{16}"
    ),
    "a GitHub token": r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "a GitLab token": r"glpat-[A-Za-z0-9_-]{20,}",
    "a Slack token": (
        rf"(?:{_BEGIN}|(?=xox.-\d))xox[abeoprs]-[A-Za-z0-9-]{{10,}}"
        r"|xapp-\d-[A-Za-z0-9-]{10,}|\bhooks\.slack\.com/services/T\w{6,40}/B\w{6,40}/\w{16,}"
    ),
    "a Google API key": rf"{_BEGIN}AIza[A-Za-z0-9_-]{{35}}",
    "a Stripe key": r"[rs]k_live_[A-Za-z0-9]{16,}",
    "an API key of a model provider": (
        rf"{_BEGIN}sk-(?=[A-Za-z_-]{{0,100}}\d)[A-Za-z0-9_-]{{32,}}"
        r"|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{40,}|pplx-[A-Za-z0-9]{40,}"
        rf"|{_BEGIN}r8_[A-Za-z0-9]{{30,}}"
    ),
    "an npm token": r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])",
    "a PyPI token": rf"{_BEGIN}pypi-[A-Za-z0-9_-]{{50,}}",
    "a Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "a SendGrid key": rf"{_BEGIN}SG\.[A-Za-z0-9_-]{{16,}}\.[A-Za-z0-9_-]{{16,}}",
    "a JSON web token": (
        # bounded: a text full of prefixes would take quadratic time
        rf"{_BEGIN}eyJ[A-Za-z0-9_-]{{10,500}}\.eyJ[A-Za-z0-9_-]{{10,4000}}\.[A-Za-z0-9_-]{{10,}}"
    ),
    "an age key": r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "a DigitalOcean token": r"do[opr]_v1_[a-f0-9]{64}",
    "a Docker token": r"dckr_[po]at_[A-Za-z0-9_-]{20,}",
    "a Vault token": rf"{_BEGIN}hvs\.[A-Za-z0-9_-]{{24,}}",
    "a Telegram token": r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{33}",
    "an Azure storage key": r"AccountKey=[A-Za-z0-9+/]{60,}",
    "a bearer token": (
        r"(?i:\bauthorization['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?:bearer|basic)) [A-Za-z0-9._~+/-]{20,}"
    ),
    "a password, as files of variables have it": (
        # as in a .env file: with a digit, and neither a call nor a reference to a variable
        # optionally after a line number or the sign of a diff
        r"(?m)(?:(?:^|(?<=\t)|(?<=^[+> -])|(?<=\d[:-]))[ \t]{0,40}|(?<=[\"'`])|(?<=\\n))"
        r"(?P<secret>(?:export )?[A-Z0-9_]{0,80}"
        r"(?:PASSWORDS?|PASSWD|SECRETS?|(?:API|ACCESS|SECRET|PRIVATE)_?KEY|TOKEN)"
        r"=['\"]?(?=[^\s'\"]{0,100}\d)[^\s'\"$<>(){}\[\]]{6,}?['\"]?)(?:(?=[\s'\"`;]|\\[nr])|$)"
    ),
    "a password in an address": (
        rf"{_BEGIN}[a-z][a-z0-9+.-]{{1,20}}://"
        r"[^\s:/@\"'<>{}$]+:(?!(?:pass|password|passwd|pw|secret|x+|\*+|\.+)@)"
        r"[^\s:/@\"'<>{}$]{3,}@"
    ),
    "a key in an address": (
        r"[?&](?!page|next|cont)[a-z_-]{0,40}(?:token|secret|password|key|sig|signature)="
        r"(?P<secret>(?=[^\s&#\"'<>]{0,100}\d)[A-Za-z0-9._~+/%-]{20,})"
    ),
}
"""Patterns of secrets in texts; `_PARTS` selects the few that a text can match."""
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "a private key": ("PRIVATE KEY", "PuTTY-User-Key-File-"),
    "an AWS access key": ("AKIA", "ASIA", "ABIA", "ACCA"),
    "a GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "a GitLab token": ("glpat-",),
    "a Slack token": ("xox", "xapp-", "hooks.slack.com"),
    "a Google API key": ("AIza",),
    "a Stripe key": ("k_live_",),
    "an API key of a model provider": ("sk-", "gsk_", "xai-", "pplx-", "r8_"),
    "an npm token": ("npm_",),
    "a PyPI token": ("pypi-",),
    "a Hugging Face token": ("hf_",),
    "a SendGrid key": ("SG.",),
    "a JSON web token": ("eyJ",),
    "an age key": ("AGE-SECRET-KEY-1",),
    "a DigitalOcean token": ("_v1_",),
    "a Docker token": ("dckr_",),
    "a Vault token": ("hvs.",),
    "a Telegram token": (":AA",),
    "an Azure storage key": ("AccountKey=",),
    "a password, as files of variables have it": (
        *("PASSWORD=", "PASSWORDS=", "PASSWD=", "SECRET=", "SECRETS=", "KEY=", "TOKEN="),
    ),
    "a password in an address": ("://",),
    "a key in an address": ("token=", "secret=", "password=", "key=", "sig=", "signature="),
}
"""Substrings of which every match of a pattern has one; other texts are not searched."""
_ANY_CASE: Final = "a bearer token"
"""The pattern whose substring may be in upper or lower case."""
SIGNS_OF_SECRETS: Final = (
    r"PRIVATE KEY|PuTTY-User-Key-File-|AKIA|ASIA|ABIA|ACCA|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-"
    r"|hooks[.]slack[.]com|AIza|k_live_|sk-[A-Za-z0-9_-]{32}|gsk_|xai-|pplx-|r8_|npm_|pypi-|hf_"
    r"|SG[.][A-Za-z0-9_-]{16}|eyJ[A-Za-z0-9_-]{10}|AGE-SECRET-KEY-1|do[opr]_v1_|dckr_[po]at_|hvs[.]"
    r"|:AA[A-Za-z0-9_-]{33}|AccountKey=|(?i:authorization).{0,12}(?i:bearer|basic) "
    r"|(?:PASSWORDS?|PASSWD|SECRETS?|KEY|TOKEN)=|://[^\s:/@]+:[^\s:/@]{3,}@"
    r"|[?&][a-z_-]*(?:token|secret|password|key|sig|signature)=[^\s&]{20}"
)
"""Pattern for Python and ripgrep that matches a line of every secret and few other texts."""
_MOST_NAMES: Final = 200_000
"""Directory entries to visit in a project."""


@lru_cache(maxsize=20_000)
def secret_name(path: str) -> str:
    """Return why a file is a probable secret by its name; empty if it is not.

    :param path: with ``/`` as separator.
    """
    pure = PurePosixPath(path)
    name = _original_name(_normalize(pure.name))
    if name.endswith(_HARMLESS):
        return ""
    above = _normalize(pure.parent.name)
    if folder := next((one for one in pure.parts if _normalize(one) in _FOLDERS), ""):
        what = f"{folder}/" if folder == pure.name else f"{folder}/{pure.name}"
        return f"{what} usually holds secrets"
    listed = _LISTED.match(name)
    beside = (above, name) in _PARENTS
    data = PurePosixPath(name).suffix in _DATA and _DATA_NAME.search(name)
    return f"{pure.name} is a file that usually holds secrets" if listed or beside or data else ""


def _normalize(name: str) -> str:
    """Normalize a name: lower case, no invisible characters, standard forms of letters."""
    if name.isascii():
        return name.lower()
    seen = "".join(one for one in name if unicodedata.category(one) != "Cf")
    return unicodedata.normalize("NFKC", seen).casefold()


def _original_name(name: str) -> str:
    """Return the name of the original file of a copy or backup."""
    if name.startswith(".#") or (name.startswith("#") and name.endswith("#")):
        name = name.removeprefix(".").strip("#")
    while (shorter := _COPY.sub("", name)) and shorter != name:
        swapped = re.search(r"\.sw[a-p]$", name) and shorter.startswith("..")
        name = shorter[1:] if swapped else shorter
    return name


def secret_in(text: str, first: int = 1, last: int | None = None) -> str:
    """Describe the first probable secret in a text, with its line; empty if there is none.

    :param first: with `last`, the range of lines; a secret counts if part of it is inside.
    """
    begin, end = _span(text, first, last)
    found = [
        (at, name) for name, shape in _likely(text) if (at := _first_match(shape, text, begin, end)) >= 0
    ]
    if not found:
        return ""
    at, name = min(found)
    return f"line {text.count(chr(10), 0, at) + 1} seems to hold {name}"


def _likely(text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the names and patterns of secrets that may be in a text."""
    for name in _TEXTS:
        if name == _ANY_CASE and "authorization" not in text.lower():
            continue
        if name not in _PARTS or any(part in text for part in _PARTS[name]):
            yield name, _shape(name)


@cache
def _shape(name: str) -> re.Pattern[str]:
    return re.compile(_TEXTS[name])


def secret_lines(text: str) -> frozenset[int]:
    """Return the numbers (from 1) of the lines with probable secrets."""
    lines: set[int] = set()
    number, at = 1, 0
    for start, end in _spans_of_secrets(text):
        number += text.count("\n", at, start)
        at = start
        lines.update(range(number, number + text.count("\n", start, end) + 1))
    return frozenset(lines)


def hide_lines(text: str, hidden: str = HIDDEN_LINE) -> str:
    """Replace each line that has a probable secret.

    :param hidden: the replacement.
    """
    numbers = secret_lines(text)
    if not numbers:
        return text
    lines = text.split("\n")
    return "\n".join(hidden if number in numbers else line for number, line in enumerate(lines, 1))


def hide_secrets(text: str, shown: AbstractSet[str] = frozenset()) -> str:
    """Replace the probable secrets in a text.

    :param shown: `secret_parts` of texts that may be shown.
    """
    parts: list[str] = []
    at = 0
    for start, end in _spans_of_secrets(text, only_keys=True):
        if end > at and not (shown and _parts(text[start:end]) <= shown):
            parts += [text[at : max(at, start)], HIDDEN if start >= at else ""]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def hide_secrets_within(value: Any) -> Any:
    """Replace the probable secrets in the texts and keys of a JSON value."""
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, Mapping):
        return {hide_secrets(str(name)): hide_secrets_within(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [hide_secrets_within(one) for one in value]
    return value


def secret_parts(text: str) -> frozenset[str]:
    """Return the lines of the secrets in a text, for `hide_secrets`."""
    found = [_parts(text[start:end]) for start, end in _spans_of_secrets(text, only_keys=True)]
    return frozenset[str]().union(*found)


def _parts(secret: str) -> frozenset[str]:
    """Split a secret into lines, without the line numbers and signs of a listing or diff."""
    return frozenset(filter(None, (_BEFORE.sub("", line).strip() for line in secret.split("\n"))))


def _spans_of_secrets(text: str, *, only_keys: bool = False) -> list[tuple[int, int]]:
    """Return the sorted spans of probable secrets, which may overlap.

    :param only_keys: limit a private key without an end to lines that look like a key.
    """
    return list(_keys_of_text(text)) if only_keys else sorted(_found(text, only_keys=False))


@lru_cache(maxsize=128)
def _keys_of_text(text: str) -> tuple[tuple[int, int], ...]:
    # a conversation is searched again before each turn
    return tuple(sorted(_found(text, only_keys=True)))


def _found(text: str, *, only_keys: bool) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for name, shape in _likely(text):
        if name == "a private key":
            spans += _headless_keys(text)
            if only_keys:
                spans += _spans_of_keys(text)
                continue
        part = "secret" if "secret" in shape.groupindex else 0
        spans += (match.span(part) for match in shape.finditer(text))
    if CUT in text:
        spans += (match.span("part") for match in _AT_CUT.finditer(text) if match["cut"])
    return spans


def _spans_of_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of private keys; a key without an end stops at the first other line."""
    head, end, lines = (re.compile(one) for one in (_HEAD_OF_KEY, _END_OF_KEY, _LINES_OF_KEY))
    at, last = 0, end.search(text)
    while (found := head.search(text, at)) is not None:
        start, at = found.span()
        if last is not None and last.start() < at:
            last = end.search(text, at)
        following = last or lines.match(text, at)
        assert following is not None  # noqa: S101 it may be empty
        at = max(at, following.end())
        yield start, at


def _headless_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of private keys without their heads."""
    last = 0
    for found in _TAIL_OF_KEY.finditer(text):
        before = text[max(last, text.rfind("\n", 0, found.start()) + 1) : found.start()]
        kept = "" if _SIGNS_OF_LINE.fullmatch(before) else before.rstrip(_LETTERS_OF_KEY)
        start = found.start() - len(before) + len(kept)
        while start > last and text[start - 1] == "\n":
            line = max(last, text.rfind("\n", 0, start - 1) + 1)
            if not _LINE_OF_KEY.fullmatch(text, line, start):
                break
            start = line
        yield start, (last := found.end())


_BEFORE: Final = re.compile(r"^\s*(?:\d{1,7}[\t:-])?[-+> ]*")


def _span(text: str, first: int, last: int | None) -> tuple[int, int]:
    """Return the span of a range of lines."""
    begin = 0
    for _ in range(first - 1):
        begin = text.find("\n", begin) + 1 or len(text)
    end = len(text) if last is None else begin
    for _ in range(first - 1, last or 0):
        end = text.find("\n", end) + 1 or len(text)
    return begin, end


def _first_match(shape: re.Pattern[str], text: str, begin: int, end: int) -> int:
    """Return the start of the first match that overlaps a span; -1 if there is none."""
    for match in shape.finditer(text):
        if match.start() >= end:
            break
        if match.end() > begin:
            return match.start()
    return -1


class HardLinks:
    """Detector of files with hard links outside the project, which is walked at most once.

    Such a file may be private, whatever its name here. No clone by git has such files, but archives and other
    users
    of a shared directory can create them.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._names: Counter[tuple[int, int]] | None = None

    def reason(self, path: Path) -> str:
        """Describe a hard link outside the project; empty if there is none; blocking."""
        try:
            found = path.stat()
        except OSError:
            return ""  # reading the file will report the error
        if not stat.S_ISREG(found.st_mode) or found.st_nlink < 2:
            return ""
        if self._names is None:
            self._names = Counter(_hard_linked_files(self._root)) if self._root else Counter()
        if self._names[found.st_dev, found.st_ino] >= found.st_nlink:
            return ""
        return f"{path.name} is a hard link to a file outside the project"


def _hard_linked_files(root: Path) -> Iterator[tuple[int, int]]:
    """Yield device and inode for each name of a file with several names."""
    seen = 0
    above = [os.fspath(root)]
    while above:
        try:
            with os.scandir(above.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > _MOST_NAMES:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        above.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        found = entry.stat(follow_symlinks=False)
                        if found.st_nlink > 1:
                            yield found.st_dev, found.st_ino
        except OSError:
            continue  # uncounted names cause a question
