"""Two benches with copies of one project at different paths, and a run that is moved between them."""

from __future__ import annotations

import asyncio
import io
import shutil
from typing import TYPE_CHECKING, Any

from tests.harness.bench import Bench
from tideate_core.portable import BundleFacts, TakenUp, create_bundle, read_bundle, take_up

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["bundle_of", "copy_of", "open_bundle", "tree"]


def copy_of(bench: Bench, root: Path) -> Bench:
    """Return a bench with a copy of the project's files, its own private state and the same model."""
    shutil.copytree(bench.root, root, ignore=shutil.ignore_patterns(".tideate"), symlinks=True)
    return Bench(root, bench.server)


async def bundle_of(bench: Bench, run: str, **how: Any) -> tuple[bytes, BundleFacts]:
    """Return the bundle of a run that no process has, and its facts."""
    target = io.BytesIO()
    facts = await asyncio.to_thread(create_bundle, bench.root, bench.private, run, target, **how)
    return target.getvalue(), facts


async def open_bundle(bench: Bench, data: bytes) -> TakenUp:
    """Open a bundle in a project."""
    store = await bench.runner.store()
    return await take_up(store, bench.workspace(), read_bundle(io.BytesIO(data)))


def tree(root: Path) -> dict[str, bytes]:
    """Return the files and links of a project, without private state and git's data."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] not in (".tideate", ".git") and (path.is_symlink() or path.is_file()):
            found[name] = bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
    return found
