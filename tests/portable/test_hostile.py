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
from tideate_core.engine import RunRequest
from tideate_core.engine.context.continuation import earlier_run
from tideate_core.engine.context.memory import Memory
from tideate_core.errors import DefinitionChanged, EditConflict, InvalidBundle
from tideate_core.portable import read_bundle
from tideate_core.portable.bundle import leads_out

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


async def test_a_run_nested_in_another_run_here_is_rejected(bundled: tuple[Bench, bytes]) -> None:
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


async def test_a_machine_of_a_bundle_does_not_get_the_rights_of_a_built_in_one(
    bundled: tuple[Bench, bytes],
) -> None:
    there, data = bundled
    parts = parts_of(data)
    rows = parts.manifest["rows"][0]
    rows["workflow"] |= {"name": "task", "kind": "machine", "source": "builtin", "path": None}
    rows["workflow"]["text"] = "* to go:\n  Write it.\n\ngo to *\n"
    await open_bundle(there, packed(parts))
    with pytest.raises(DefinitionChanged, match="came in a bundle"):
        await there.resume(rows["run"]["id"], changed="stored")


@pytest.mark.parametrize("path", ["/tmp/evil.yaml", "evil.yaml", "\0home/evil.yaml", "\0root"])
async def test_a_bundle_names_no_file_as_its_workflow_outside_of_the_project(
    bundled: tuple[Bench, bytes], path: str
) -> None:
    """A file that the person names runs unasked, if it is not the project's; a bundle is no person."""
    _, data = bundled
    parts = parts_of(data)
    parts.manifest["rows"][0]["workflow"] |= {"source": "file", "path": path}
    with pytest.raises(InvalidBundle, match="outside of the project"):
        read_bundle(io.BytesIO(packed(parts)))


async def test_a_bundle_continues_no_conversation_of_this_machine(bundled: tuple[Bench, bytes]) -> None:
    there, data = bundled
    parts = parts_of(data)
    request = json.loads(parts.manifest["rows"][0]["run"]["request"]) | {"continues": "last"}
    parts.manifest["rows"][0]["run"]["request"] = json.dumps(request)
    await open_bundle(there, packed(parts))
    stored = RunRequest.model_validate((await there.reader()).request(request["execution_id"]))
    assert stored.opened
    assert await earlier_run(stored, Memory(None), await there.runner.store()) is None


async def test_changed_permissions_are_shown(bundled: tuple[Bench, bytes]) -> None:
    _, data = bundled
    parts = parts_of(data)
    mode = {"path": ".husky/pre-commit", "before": 0o644, "after": 0o755}
    parts.manifest["journal"][0]["modes"] = [mode]
    assert ".husky/pre-commit" in read_bundle(io.BytesIO(packed(parts))).facts.written


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("a/b/up", b"../..", False),
        ("a/b/up", b"../../x", False),
        ("a/up", b"../..", True),
        ("x", b"a/b/up/../y", True),  # `up` may be a link to the root
        ("a/x", b"../b/../..", True),
        ("x", b"..", True),
        ("x", b"./y", False),
        ("x", b"y/..z", False),
    ],
)
def test_links_that_lead_out_even_over_other_links(path: str, target: bytes, out: bool) -> None:
    assert leads_out(path, target) is out


async def test_a_bundle_cannot_turn_off_questions(bundled: tuple[Bench, bytes]) -> None:
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
