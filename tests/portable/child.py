"""Process that creates or opens a bundle: `python -m tests.portable.child ORDER`, with ORDER as JSON.

It prints `ready` before it begins, and counts of system calls and statements at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from tests.crash.kills import Kill, Killer
from tests.crash.site import RUN
from tideate_core.engine import RunRollback
from tideate_core.portable import (
    Bundle,
    create_bundle,
    finish_openings,
    lock_openings,
    read_bundle,
    take_up,
)
from tideate_core.store import Reader, Store
from tideate_core.util.atomic_files import write_atomic
from tideate_core.workspace import Workspace


async def main(words: list[str]) -> None:
    if words[0] == "create":
        create(*map(Path, words[1:]))
    elif words[0] == "open":
        await open_(*map(Path, words[1:]))
    elif words[0] == "recover":
        await recover(*map(Path, words[1:]))
    else:
        root, private = map(Path, words[1:])
        members = [path.name for path in sorted((private / "journal").iterdir())]
        await RunRollback(root, private).restore_files(members)


def create(file: Path, root: Path, private: Path) -> None:
    import io

    target = io.BytesIO()
    create_bundle(root, private, RUN, target)
    write_atomic(file, target.getvalue())


async def open_(file: Path, root: Path, private: Path) -> None:
    store = Store.open(private)
    bundle = await asyncio.to_thread(read, file)
    await take_up(store, Workspace(root, private=private), bundle)
    store.close()


def read(file: Path) -> Bundle:
    with file.open("rb") as source:
        return read_bundle(source)


async def recover(root: Path, private: Path) -> None:
    lock = lock_openings(private)
    assert lock is not None
    await finish_openings(private, Reader(private), Workspace(root, private=private))
    os.close(lock)


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    killer = Killer(Kill(*order["kill"]) if order["kill"] else None)
    killer.install()
    print("ready", flush=True)
    begun = time.monotonic()
    asyncio.run(main(order["words"]))
    print(json.dumps({"time": time.monotonic() - begun, **killer.counts}), flush=True)
