"""Process that writes to a project: `python -m tests.crash.writing ORDER`, with ORDER as JSON.

It prints `ready` before it begins, and the number and duration of its system calls at the end.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tests.crash.kills import Kill, Killer
from tideate_core.snapshots import SnapshotManager
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from tests.snapshots.trees import Node

Work = Literal["apply", "create", "recover", "restore"]
WORKS: tuple[Work, ...] = ("apply", "create", "restore")
RUN = "run"
TEXTS = {b"text%d" % number: f"one\ntwo {number}\nthree\n".encode() for number in range(10)}


@dataclass(frozen=True, slots=True)
class Order:
    """Work for the process."""

    work: Work
    root: str
    snapshot: str = ""
    """Snapshot to restore."""
    kill: Kill | None = None


def tree(seed: int) -> dict[bytes, Node]:
    """Return a generated tree; two trees share some paths and differ in others, including kinds."""
    chance = random.Random(seed)
    made: dict[bytes, Node] = {name: ("file", 0o644, data) for name, data in TEXTS.items()}
    for number in range(14):
        made[b"path%d" % number] = _node(chance, 2)
    return {name: node for name, node in made.items() if name in TEXTS or chance.random() < 0.8}


def _node(chance: random.Random, depth: int) -> Node:
    kind = chance.random()
    if depth and kind < 0.35:
        names = chance.sample([b"a", b"b", b"c", b"\xff", b"-d"], chance.randint(0, 4))
        return (
            "directory",
            chance.choice([0o755, 0o700]),
            {name: _node(chance, depth - 1) for name in names},
        )
    if kind < 0.5:
        return ("link", 0, chance.choice([b"text1", b"nowhere", b"path1", b".."]))
    return ("file", chance.choice([0o644, 0o600, 0o755]), chance.randbytes(chance.choice([0, 10, 3000])))


def changes() -> list[FileChange]:
    """Return text changes of each kind, several of each."""
    made = []
    for number, (name, data) in enumerate(TEXTS.items()):
        path, text = name.decode(), data.decode().removesuffix("\n")
        if number % 4 == 0:
            made.append(FileChange(path, "delete", text, None))
        elif number % 4 == 1:
            made.append(FileChange(path, "move", text, text, move_to=f"moved/{path}"))
        elif number % 4 == 2:
            made.append(FileChange(path, "modify", text, text + "\nfour"))
        else:
            made.append(FileChange(f"new/{number}/{path}", "create", None, "new\n"))
    return made


async def _work(order: Order) -> None:
    root = Path(order.root)
    if order.work == "apply":
        await Workspace(root).apply(changes(), execution_id=RUN)
    elif order.work == "create":
        await SnapshotManager(root).create("killed")
    elif order.work == "restore":
        await SnapshotManager(root).restore(order.snapshot, delete_added=True)
    else:
        await SnapshotManager(root).recover()


def main(text: str) -> None:
    shape = json.loads(text)
    kill = shape.pop("kill")
    order = Order(**shape, kill=Kill(**kill) if kill else None)
    killer = Killer(order.kill)
    killer.install()
    print("ready", flush=True)
    begun = time.monotonic()
    asyncio.run(_work(order))
    print(json.dumps({"time": time.monotonic() - begun, **killer.counts}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
