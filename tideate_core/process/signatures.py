"""Signatures of data by SSH keys, made and checked by `ssh-keygen`; all functions block."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import CommandError
from tideate_core.process.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATIENCE: Final = 60.0
"""Seconds: a key of a hardware token waits for a touch."""
_LONGEST: Final = 400
"""Characters of the program's output in an error."""
LARGEST_SIGNATURE: Final = 16 << 10
"""Characters of a signature."""
_GOOD: Final = re.compile(r'Good ".*" signature with \S+ key (SHA256:[A-Za-z0-9+/]{43})\s*')
_KEY: Final = re.compile(r"(?P<kind>(?:sk-)?(?:ssh|ecdsa)-[\w@.-]+) (?P<blob>[A-Za-z0-9+/]+={0,2})(?: .*)?")
_FINGERPRINT: Final = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


def sign_data(data: bytes, key: Path, namespace: str) -> str:
    """Sign data with a private key, or with a public key and an SSH agent.

    :raises CommandError: the key cannot be used, or `ssh-keygen` is not installed.
    """
    done = _keygen(["-Y", "sign", "-q", "-f", str(key), "-n", namespace], data)
    if done.returncode:
        raise CommandError(f"{key} signed nothing: {_said(done)}")
    return done.stdout.decode("ascii", "replace")


def signing_key(data: bytes, signature: str, namespace: str) -> str | None:
    """Return the fingerprint of the key with which data was signed; None for a wrong signature.

    :raises CommandError: `ssh-keygen` is not installed.
    """
    if len(signature) > LARGEST_SIGNATURE:
        return None
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="replace") as file:
        file.write(signature)
        file.flush()
        done = _keygen(["-Y", "check-novalidate", "-n", namespace, "-s", file.name], data)
    match = _GOOD.fullmatch(done.stdout.decode("utf-8", "replace").strip())
    return match[1] if match and not done.returncode else None


def fingerprint_of(entry: str) -> str | None:
    """Return the fingerprint that an entry of an allow-list names.

    :param entry: a fingerprint, a public key, or a line of an allowed-signers file without options.
    :returns: None if the entry is none of these.
    """
    entry = entry.strip()
    if _FINGERPRINT.fullmatch(entry):
        return entry
    _, _, after = entry.partition(" ")
    match = _KEY.fullmatch(entry) or _KEY.fullmatch(after.strip())
    if match is None:
        return None
    try:
        blob = base64.b64decode(match["blob"], validate=True)
    except ValueError:
        return None
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def fingerprint_of_file(key: Path) -> str:
    """Return the fingerprint of a key file, private or public.

    :raises CommandError: the file has no key, or `ssh-keygen` is not installed.
    """
    done = _keygen(["-lf", str(key)], b"")
    match = _FINGERPRINT.search(done.stdout.decode("utf-8", "replace"))
    if done.returncode or match is None:
        raise CommandError(f"{key} has no key: {_said(done)}")
    return match[0]


def _keygen(arguments: Sequence[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    program = find_program("ssh-keygen", Path("/"), os.environ, hint="it comes with OpenSSH")
    try:
        return subprocess.run(  # noqa: S603 a list and no shell
            [program, *arguments],
            input=data,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"ssh-keygen cannot be run: {error}") from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    words = done.stderr.decode("utf-8", "replace").strip() or f"ssh-keygen ended with {done.returncode}"
    return words[:_LONGEST]
