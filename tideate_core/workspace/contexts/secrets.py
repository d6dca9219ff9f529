"""What looks like a secret, by its file's name or by its text. It errs on the side of asking."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["secret_in", "secret_name"]

_NAMES: Final = (
    *(".env", ".env.*", "*.env", ".envrc"),
    *("*.pem", "*.key", "*.ppk", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.asc", "*.gpg"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    *(".netrc", "_netrc", ".pgpass", ".htpasswd", ".npmrc", ".pypirc", ".git-credentials", ".dockercfg"),
    *("credentials", "kubeconfig", "*.tfstate", "*.tfstate.backup", "*.tfvars", ".vault-token"),
)
_PARENTS: Final = frozenset({(".docker", "config.json"), (".kube", "config"), (".aws", "config")})
_DATA_NAME: Final = re.compile(
    r"(?:^|[._-])(?:credentials?|secrets?|passwords?|service[._-]?account)(?:[._-]|$)"
)
_DATA: Final = frozenset(
    {".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".txt", ".xml", ".properties"}
)
_HARMLESS: Final = (".example", ".sample", ".template", ".dist", ".pub")

_TEXTS: Final[Mapping[str, re.Pattern[str]]] = {
    "a private key": re.compile(
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"
    ),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    "a GitLab token": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}"),
    "a Slack token": re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "a Google API key": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
    "a Stripe key": re.compile(r"\b[rs]k_live_[A-Za-z0-9]{16,}"),
    "an API key of a model provider": re.compile(r"\bsk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{32,}"),
    "an npm token": re.compile(r"\bnpm_[A-Za-z0-9]{36}\b"),
    "a PyPI token": re.compile(r"\bpypi-[A-Za-z0-9_-]{50,}"),
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{30,}\b"),
    "a SendGrid key": re.compile(r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    "a JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    "a password in an address": re.compile(
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'<>{}$]+:(?!(?:pass|password|passwd|pw|secret|x+|\*+|\.+)@)"
        r"[^\s:/@\"'<>{}$]{3,}@"
    ),
}


def secret_name(path: str) -> str:
    """Say in words why a file is taken for a secret by its name; empty where it is not.

    :param path: with ``/``.
    """
    pure = PurePosixPath(path)
    name = pure.name.lower()
    if name.endswith(_HARMLESS):
        return ""
    listed = any(fnmatchcase(name, pattern) for pattern in _NAMES)
    beside = (pure.parent.name.lower(), name) in _PARENTS
    data = PurePosixPath(name).suffix in _DATA and _DATA_NAME.search(name)
    return f"{pure.name} is a file that usually holds secrets" if listed or beside or data else ""


def secret_in(text: str) -> str:
    """Say in words which secret a text seems to hold, and in which of its lines; empty where none."""
    found = [(match.start(), name) for name, shape in _TEXTS.items() if (match := shape.search(text))]
    if not found:
        return ""
    at, name = min(found)
    return f"line {text.count(chr(10), 0, at) + 1} seems to hold {name}"
