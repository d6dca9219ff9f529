"""Published commits of anyone: whatever bytes they have, reading one ends with a result or a refusal."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from tideate_core.errors import RefusedRef
from tideate_core.git import PersonsGit, persons_git, read_sealed, read_signature

if TYPE_CHECKING:
    from pathlib import Path

BEGIN, END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"


@pytest.fixture
def git(tmp_path: Path) -> PersonsGit:
    subprocess.run(["git", "init", "-q", str(tmp_path / "project")], check=True)
    return asyncio.run(persons_git(tmp_path / "project", tmp_path / "private"))


def commit(git: PersonsGit, header: bytes) -> str:
    """Store a commit with these bytes in its header."""
    tree = stored(git, "tree", b"")
    who = b"Ana <ana@example.org> 1 +0000"
    text = b"tree %s\nauthor %s\ncommitter %s\n%s\n\nmessage\n" % (tree.encode(), who, who, header)
    return stored(git, "commit", text)


def stored(git: PersonsGit, kind: str, content: bytes) -> str:
    command = ["git", "hash-object", "-w", "--literally", "-t", kind, "--stdin"]
    made = subprocess.run(command, cwd=git.place, input=content, capture_output=True, check=True)
    return made.stdout.decode().strip()


async def read(git: PersonsGit, name: str) -> None:
    with suppress(RefusedRef):
        assert await read_signature(git, name) is None
    with suppress(RefusedRef):
        await read_sealed(git, name, {"answer.json": 100}, ())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("é".encode())
@example(b"AAAA")
@example(b"U1NIU0lH")
@example(b"U1NIU0lHAAAAAf////8=")
@given(st.binary(max_size=60))
def test_any_bytes_in_a_signature_are_no_signature(git: PersonsGit, content: bytes) -> None:
    armour = b"gpgsig " + BEGIN + b"\n " + content + b"\n " + END
    asyncio.run(read(git, commit(git, armour)))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(b"\0")
@given(st.binary(max_size=200))
def test_a_commit_of_any_bytes_is_refused_or_unsigned(git: PersonsGit, content: bytes) -> None:
    asyncio.run(read(git, commit(git, b"gpgsig " + content)))
    asyncio.run(read(git, stored(git, "commit", content)))
