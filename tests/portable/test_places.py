"""Runs that move between unlike places: both directions, other line ends, modes, names, texts and clones."""

from __future__ import annotations

import io
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_loop import graph, step
from tests.engine.test_resumed_runs import Stop
from tests.engine.test_rollback import adds, content
from tests.harness.bench import Bench
from tests.portable.moving import bundle_of, copy_of, open_bundle, tree
from tests.portable.mutations import packed, parts_of
from tideate_core.engine import RunRollback
from tideate_core.errors import (
    InvalidBundle,
    InvalidInput,
    RunIsHere,
    RunIsOwned,
    WorkspaceError,
)
from tideate_core.portable import lock_openings, read_bundle

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows import StepContext


def prepare(bench: Bench, stops: tuple[str, ...] = ()) -> None:
    """Register a chain of steps that append to a file; some stop the run first."""
    handlers = {name: _Adds(bench, stop=name in stops) for name in ("one", "two", "three")}
    graph(bench, {**handlers}, step("one"), step("two", "one"), step("three", "two"))


class _Adds(Stop):
    def __init__(self, bench: Bench, *, stop: bool) -> None:
        super().__init__(bench)
        self.count = 0 if stop else 1

    async def __call__(self, step: StepContext) -> str:
        await super().__call__(step)
        await adds(step)
        return step.step


async def left_in_second(bench: Bench) -> str:
    bench.write("a.txt", "mine\n")
    prepare(bench, ("two",))
    left = await bench.run("g", "go")
    assert left.reason == "interrupted"
    bench.runner = bench.make_runner(bench.config)
    return left.execution_id


async def members(bench: Bench, run: str) -> list[str]:
    return [run, *(one.id for one in (await bench.reader()).within(run))]


async def test_a_run_moves_to_another_clone_and_back(bench: Bench, tmp_path: Path) -> None:
    run = await left_in_second(bench)
    there = copy_of(bench, tmp_path / "there")
    (there.root / "a.txt").write_text("mine\n")
    prepare(there, ("three",))
    data, _ = await bundle_of(bench, run)
    await open_bundle(there, data)
    assert (await there.resume(run)).reason == "interrupted"
    there.runner = there.make_runner(there.config)
    back, _ = await bundle_of(there, run)
    prepare(bench)
    taken = await open_bundle(bench, back)
    assert taken.written == ("a.txt",)
    assert content(bench) == ["mine", "one", "two"]
    with pytest.raises(RunIsHere, match="has continued since"):
        await open_bundle(bench, data)
    assert (await open_bundle(bench, back)).unchanged
    assert (await bench.resume(run)).ok
    assert content(bench) == ["mine", "one", "two", "three"]
    with pytest.raises(RunIsHere):
        await open_bundle(bench, back)
    await RunRollback(bench.root, bench.private).restore_files(await members(bench, run))
    assert content(bench) == ["mine"]
    await there.aclose()


async def test_a_run_that_continued_in_both_places_is_refused(bench: Bench, tmp_path: Path) -> None:
    run = await left_in_second(bench)
    there = copy_of(bench, tmp_path / "there")
    (there.root / "a.txt").write_text("mine\n")
    prepare(there)
    data, _ = await bundle_of(bench, run)
    await open_bundle(there, data)
    assert (await there.resume(run)).ok
    prepare(bench)
    assert (await bench.resume(run)).ok
    back, _ = await bundle_of(there, run)
    before = tree(bench.root)
    with pytest.raises(RunIsHere, match="has continued here and, separately") as refused:
        await open_bundle(bench, back)
    assert refused.value.diverged
    assert tree(bench.root) == before
    await there.aclose()


async def test_line_ends_modes_and_other_edits_of_the_other_clone_stay(bench: Bench, tmp_path: Path) -> None:
    run = await left_in_second(bench)
    there = copy_of(bench, tmp_path / "there")
    path = there.root / "a.txt"
    path.write_bytes(b"mine\r\n")
    path.chmod(0o600)
    data, _ = await bundle_of(bench, run)
    prepare(there)
    umask = os.umask(0o077)
    try:
        await open_bundle(there, data)
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"mine\r\none\r\n", 0o600)
        assert (await there.resume(run)).ok
    finally:
        os.umask(umask)
    await RunRollback(there.root, there.private).restore_files(await members(there, run))
    assert path.read_bytes() == b"mine\r\n"
    await there.aclose()


async def test_private_files_are_private_under_any_umask(bench: Bench, tmp_path: Path) -> None:
    run = await left_in_second(bench)
    there = copy_of(bench, tmp_path / "there")
    (there.root / "a.txt").write_text("mine\n")
    umask = os.umask(0)
    try:
        await open_bundle(there, (await bundle_of(bench, run))[0])
    finally:
        os.umask(umask)
    modes = {oct(path.stat().st_mode & 0o077) for path in (there.private / "journal").rglob("*")}
    assert modes == {"0o0"}
    await there.aclose()


@pytest.mark.parametrize("text", ["\0root/x", "\0", "\ud800 half", "a\nb\0c", "\u202eevil", "/"])
async def test_unusual_texts_arrive_unchanged(bench: Bench, tmp_path: Path, text: str) -> None:
    async def says(_step: StepContext) -> Any:
        return {"text": text, "list": [text], text: str(bench.root / "a.txt")}

    bench.write("a.txt", "mine\n")
    graph(bench, {"one": says}, step("one"))
    result = await bench.succeed("g", "go")
    there = copy_of(bench, tmp_path / "there")
    await open_bundle(there, (await bundle_of(bench, result.execution_id))[0])
    (row,) = (await there.reader()).steps(result.execution_id)
    assert row.result == {"text": text, "list": [text], text: str(there.root / "a.txt")}
    await there.aclose()


async def test_no_path_of_this_machine_is_in_a_bundle(bench: Bench) -> None:
    run = await left_in_second(bench)
    data, facts = await bundle_of(bench, run)
    parts = parts_of(data)
    words = json.dumps(parts.manifest) + "".join(map(repr, parts.blobs.values()))
    assert str(bench.root) not in words
    assert os.uname().nodename not in words
    assert facts.project == bench.root.name


async def test_keys_of_models_are_not_in_a_bundle(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", "sk-very-private-key-0123456789")
    adapter = bench.config.adapters["fake"].model_copy(update={"api_key_env": "FAKE_KEY"})
    bench.config = bench.config.model_copy(update={"adapters": {"fake": adapter}})
    bench.runner = bench.make_runner(bench.config)
    bench.server.answers("why", "Because.")
    result = await bench.succeed("ask", "why")
    data, _ = await bundle_of(bench, result.execution_id)
    parts = parts_of(data)
    assert "very-private-key" not in json.dumps(parts.manifest) + "".join(map(repr, parts.blobs.values()))


async def test_an_active_run_is_not_put_into_a_file(bench: Bench) -> None:
    bench.front.hold = True
    graph(bench, {}, step("one", confirm="go?"))
    run = bench.begin("g", "go")
    await bench.front.until_asked()
    with pytest.raises(RunIsOwned):
        await bundle_of(bench, bench.front.requests[0].execution_id)
    bench.runner.leave()
    await run


async def test_a_rolled_back_run_moves_without_its_changes(bench: Bench, tmp_path: Path) -> None:
    bench.write("a.txt", "mine\n")
    prepare(bench)
    run = (await bench.succeed("g", "go")).execution_id
    await RunRollback(bench.root, bench.private).restore_files([run])
    there = copy_of(bench, tmp_path / "there")
    taken = await open_bundle(there, (await bundle_of(bench, run))[0])
    assert (taken.written, tree(there.root)) == ((), tree(bench.root))
    await there.aclose()


async def test_a_newer_version_and_unknown_columns_are_reported(bench: Bench) -> None:
    run = await left_in_second(bench)
    data, _ = await bundle_of(bench, run)
    with pytest.raises(InvalidBundle, match="has the format 2, and this version of tideate reads only 1"):
        read_bundle(io.BytesIO(data.replace(b"bundle 1\n", b"bundle 2\n", 1)))
    parts = parts_of(data)
    parts.manifest["rows"][0]["run"]["later"] = 1
    with pytest.raises(InvalidBundle, match=r"other columns than this version knows; tideate 0\.1"):
        read_bundle(io.BytesIO(packed(parts)))


async def test_two_openings_do_not_mix(bench: Bench, tmp_path: Path) -> None:
    run = await left_in_second(bench)
    there = copy_of(bench, tmp_path / "there")
    (there.root / "a.txt").write_text("mine\n")
    await there.runner.store()
    lock = lock_openings(there.private)
    assert lock is not None
    data, _ = await bundle_of(bench, run)
    with pytest.raises(WorkspaceError, match="another process is opening"):
        await open_bundle(there, data)
    os.close(lock)
    await open_bundle(there, data)
    await there.aclose()


async def test_a_file_name_that_is_no_text_is_refused_with_its_reason(bench: Bench) -> None:
    run = await left_in_second(bench)
    journal = bench.private / "journal" / run / "0001" / "manifest.json"
    journal.write_text(journal.read_text().replace("a.txt", "a\\udcff.txt"))
    with pytest.raises((InvalidInput, WorkspaceError)):
        await bundle_of(bench, run)


def git(place: Path, *words: str) -> None:
    settings = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *settings, *words], cwd=place, check=True, capture_output=True)


async def test_a_shallow_clone_opens_a_bundle(bench: Bench, tmp_path: Path) -> None:
    run = await left_in_second(bench)
    text = (bench.root / "a.txt").read_text()
    (bench.root / "a.txt").write_text("mine\n")
    git(bench.root, "init", "-q")
    git(bench.root, "add", "a.txt")
    git(bench.root, "commit", "-qm", "1")
    git(bench.root, "commit", "-qm", "2", "--allow-empty")
    (bench.root / "a.txt").write_text(text)
    data, facts = await bundle_of(bench, run)
    assert facts.base is not None
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{bench.root}", "shallow")
    there = Bench(tmp_path / "shallow", bench.server)
    prepare(there)
    await open_bundle(there, data)
    assert (await there.resume(run)).ok
    assert content(there) == ["mine", "one", "two", "three"]
    await there.aclose()
