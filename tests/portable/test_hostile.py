"""Hostile bundles are refused before anything is written."""

from __future__ import annotations

import io
import json
import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.harness.bench import Bench
from tests.portable.kinds import KINDS, arguments
from tests.portable.moving import bundle_of, copy_of, open_bundle
from tests.portable.mutations import BOMB, MUTATIONS, packed, parts_of
from tests.portable.test_many import cut_at
from tideate_core.errors import DefinitionChanged, EditConflict, InvalidBundle
from tideate_core.portable import read_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.harness.model_server import ModelServer

NUMBER = int(os.environ.get("TIDEATE_HOSTILE") or 500)


def all_files(root: Path) -> dict[str, bytes]:
    """Return all files below a directory, private ones, too."""
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture
async def bundled(tmp_path: Path, server: ModelServer) -> AsyncIterator[tuple[Bench, bytes]]:
    """A project without runs, and the bundle of a run that was cut off late."""
    (tmp_path / "here").mkdir()
    here = Bench(tmp_path / "here", server)
    KINDS["g"](here)
    there = copy_of(here, tmp_path / "there")
    KINDS["g"](there)
    cut_at(here, 40)
    left = await here.run("g", **arguments("g", here))
    assert left.reason == "interrupted"
    data, _ = await bundle_of(here, left.execution_id)
    await here.aclose()
    yield there, data
    await there.aclose()


async def test_mutations_of_a_bundle_are_refused_and_write_nothing(bundled: tuple[Bench, bytes]) -> None:
    there, data = bundled
    await there.runner.store()
    before = all_files(there.root)
    accepted = []
    for number in range(NUMBER):
        mutate = MUTATIONS[number % len(MUTATIONS)]
        changed = mutate(random.Random(number), data)
        if changed == data:
            continue
        try:
            await open_bundle(there, changed)
        except InvalidBundle:
            continue
        accepted.append((number, mutate))
    assert accepted == []
    after = all_files(there.root)
    changed_files = {name for name in after if after[name] != before.get(name)}
    assert changed_files <= {str(there.private / "portable/lock")}
    await open_bundle(there, data)


def test_a_frame_that_unpacks_to_far_more_is_refused(server: ModelServer) -> None:
    assert server
    for number in range(6):
        with pytest.raises(InvalidBundle):
            read_bundle(io.BytesIO(BOMB(random.Random(number), b"")))


async def test_a_link_on_the_path_of_a_file_is_not_followed(
    bundled: tuple[Bench, bytes], tmp_path: Path
) -> None:
    there, data = bundled
    (tmp_path / "outside").mkdir()
    (there.root / "out").symlink_to(tmp_path / "outside")
    with pytest.raises(EditConflict, match="out/"):
        await open_bundle(there, data)
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_run_of_another_run_here_is_refused(bundled: tuple[Bench, bytes]) -> None:
    there, data = bundled
    await open_bundle(there, data)
    parts = parts_of(data)
    (child,) = [one for one in parts.manifest["rows"] if one["run"]["parent_id"]]
    child["run"] |= {"parent_id": None, "parent_step": None}
    parts.manifest["rows"] = [child]
    parts.manifest["journal"] = []
    with pytest.raises(InvalidBundle, match="step of another run"):
        await open_bundle(there, packed(parts))


@pytest.mark.parametrize("source", ["builtin", "file", "text", "package", "editor", "project", ""])
async def test_a_definition_of_a_bundle_gets_no_trust(bundled: tuple[Bench, bytes], source: str) -> None:
    there, data = bundled
    parts = parts_of(data)
    rows = parts.manifest["rows"][0]
    steps = [{"id": "x", "tool": {"server": "helper", "name": "run", "arguments": {}}}]
    rows["workflow"] |= {"name": "evil", "source": source, "path": None}
    rows["workflow"]["text"] = json.dumps({"id": "e", "name": "evil", "version": "1.0.0", "steps": steps})
    await open_bundle(there, packed(parts))
    with pytest.raises(DefinitionChanged):
        await there.resume(rows["run"]["id"], changed="stored")


async def test_a_bundle_turns_off_no_question(bundled: tuple[Bench, bytes]) -> None:
    there, data = bundled
    parts = parts_of(data)
    run = parts.manifest["rows"][0]["run"]
    request = json.loads(run["request"]) | {"require_confirmation": False, "opened": False}
    request["context"] = {"cwd": "/etc"}
    run["request"] = json.dumps(request)
    await open_bundle(there, packed(parts))
    stored = (await there.reader()).request(run["id"])
    assert (stored["require_confirmation"], stored["opened"]) == (None, True)
    assert stored["context"]["cwd"] == str(there.root)
