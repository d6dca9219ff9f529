"""Runs that are killed with their process move; an opening that is killed leaves all of a run or nothing."""

from __future__ import annotations

import io
import json
import os
import random
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.crash.conftest import state_home, unkilled
from tests.crash.kills import HOWS, How, Kill, Totals, draw
from tests.crash.site import RUN, Site, first_line, told
from tests.portable.moving import tree
from tideate_core.errors import RunNotFound
from tideate_core.portable import create_bundle, read_bundle

if TYPE_CHECKING:
    from tests.crash.site import Unkilled

__all__ = ["state_home", "unkilled"]

pytestmark = [pytest.mark.crash, pytest.mark.slow]

MOVES = int(os.environ.get("TIDEATE_KILLS") or 4)
SEED = int(os.environ.get("TIDEATE_SEED") or secrets.randbelow(1_000_000))
REPOSITORY = Path(__file__).parents[2]


def bundle_of(site: Site, target: Path) -> bool:
    """Put the run of a killed process into a file; tell whether there is a run."""
    content = io.BytesIO()
    try:
        create_bundle(site.root, site.private, RUN, content)
    except RunNotFound:
        return False
    target.write_bytes(content.getvalue())
    return True


def child(*words: str, kill: Kill | None = None) -> dict[str, Any] | None:
    """Create or open a bundle in a process; return what it did, None if it was killed."""
    order = json.dumps({"words": words, "kill": None if kill is None else [kill.how, kill.at, kill.delay]})
    command = [sys.executable, "-m", "tests.portable.child", order]
    limit = kill.at if kill is not None and kill.how == "time" else 60.0
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert first_line(process.stdout.fileno()) == "ready\n"
        try:
            out, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
    if kill is not None and process.returncode == -signal.SIGKILL:
        return None
    assert process.returncode == 0, errors.decode()
    done: dict[str, Any] = json.loads(out)
    return done


@pytest.mark.parametrize("number", range(MOVES))
def test_a_killed_run_ends_elsewhere_like_a_run_that_was_not_killed(
    unkilled: Unkilled, tmp_path: Path, number: int
) -> None:
    seed = SEED + number
    print(f"repeat with TIDEATE_SEED={seed} TIDEATE_KILLS=1")
    chance = random.Random(seed)
    here, file = Site(tmp_path / "here"), tmp_path / "run.tideate-bundle"
    if here.go(draw(chance, unkilled.totals)) is not None or not bundle_of(here, file):
        return  # it ended, or it was killed before its first commit
    there = Site(tmp_path / "far" / "away")
    before = tree(there.root)
    assert child("open", str(file), str(there.root), str(there.private)) is not None
    ended = there.go()
    assert ended is not None
    assert told(ended.result) == unkilled.result
    assert there.outcome() == unkilled.outcome
    assert there.fingerprint() == unkilled.files
    assert before != tree(there.root)


@pytest.mark.parametrize("number", range(MOVES))
def test_a_killed_opening_is_complete_or_can_be_repeated(
    unkilled: Unkilled, tmp_path: Path, number: int
) -> None:
    seed = SEED + number
    print(f"repeat with TIDEATE_SEED={seed} TIDEATE_KILLS=1")
    chance = random.Random(seed)
    here, file = Site(tmp_path / "here"), tmp_path / "run.tideate-bundle"
    assert here.go() is not None
    assert bundle_of(here, file)
    whole = Site(tmp_path / "whole")
    done = child("open", str(file), str(whole.root), str(whole.private))
    assert done is not None
    totals = Totals(done["time"], done["commit"], done["statement"], done["call"])
    there = Site(tmp_path / "there")
    before = tree(there.root)
    arguments = ("open", str(file), str(there.root), str(there.private))
    for _ in range(3):
        killed = child(*arguments, kill=draw(chance, totals)) is None
        is_here = (there.private / "tideate.db").exists() and there.has_run()
        if is_here:
            assert tree(there.root) == tree(whole.root)
        elif not killed:
            raise AssertionError("it ended without the run")
        else:
            child("recover", str(there.root), str(there.private))
            assert tree(there.root) == before
    child(*arguments)
    assert tree(there.root) == tree(whole.root)
    assert there.outcome() == whole.outcome()
    assert not list((there.private / "portable" / "opening").glob("*"))
    child("rollback", str(there.root), str(there.private))
    assert tree(there.root) == before


@pytest.mark.parametrize("how", HOWS)
def test_a_bundle_whose_writer_is_killed_is_complete_or_absent(tmp_path: Path, how: How) -> None:
    here, file = Site(tmp_path / "here"), tmp_path / "run.tideate-bundle"
    assert here.go() is not None
    done = child("create", str(file), str(here.root), str(here.private))
    assert done is not None
    for at in range(1, 1 + min(6, int(done["call"]) if how == "call" else 3)):
        file.unlink(missing_ok=True)
        moment = done["time"] * at / 4 if how == "time" else at
        child("create", str(file), str(here.root), str(here.private), kill=Kill(how, moment))
        if file.exists():
            assert read_bundle(io.BytesIO(file.read_bytes())).run == RUN
