"""Child process that owns runs: `python -m tests.store.child TASK PRIVATE …`; prints durable progress."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import sys
from pathlib import Path

from tests.store.making import DAY, ending, new_run, outcome, start
from tideate_core.errors import StoreError, TideateError
from tideate_core.store import ControlRequest, Message, Store


def say(text: object) -> None:
    print(text, flush=True)


async def chain(store: Store, run: str) -> None:
    """Complete steps until killed; print each durable step."""
    log = await store.begin(new_run(run))
    number = 0
    while True:
        number += 1
        log.event("SD_EVENT_STEP_EXECUTED", DAY, {"step": f"s{number}"})
        log.started(start(f"s{number}"))
        await log.remember(f"s{number}", "1.ask:1", number)
        await log.finish(outcome(f"s{number}", {"number": number})).future
        say(number)


async def steps(store: Store, run: str, count: str) -> None:
    """Complete this many steps in sequence, then end the run."""
    log = await store.begin(new_run(run))
    say("begun")
    for number in range(int(count)):
        log.event("SD_EVENT_STEP_EXECUTED", DAY, {"step": f"s{number}"})
        log.started(start(f"s{number}"))
        await log.finish(outcome(f"s{number}", {"number": number})).future
    say("stepped")
    await log.ended(ending(steps=int(count)))


def tell(request: ControlRequest) -> None:
    say(f"say {request.text}" if isinstance(request, Message) else request)


async def hold(store: Store, run: str) -> None:
    """Hold a run; print its control requests and its loss."""
    log = await store.begin(new_run(run))
    lost = asyncio.Event()
    log.on_control_request = tell
    log.on_lost = lost.set
    say("begun")
    await lost.wait()
    try:
        await log.finish(outcome("late")).future
    except StoreError as error:
        say(error.code)


async def full(store: Store, run: str) -> None:
    """Write until the disk is full, free space, and resume the run."""
    log = await store.begin(new_run(run))
    log.event("SD_EVENT_WORKFLOW_STARTED", DAY, {})
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    number = 0
    try:
        while True:
            log.event("SD_EVENT_STEP_EXECUTED", DAY, {"step": f"s{number}"})
            await log.finish(outcome(f"s{number}", "x" * 10_000)).future
            number += 1
    except StoreError as error:
        say(number)
        say(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    with contextlib.suppress(StoreError):
        await log.release()
    log = await store.adopt(run)
    await log.finish(outcome("again")).future
    await log.ended(ending(steps=number + 1))
    say("ended")


async def nobody(store_path: Path) -> None:
    """Open the store as a user without write permission."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        store = Store.open(store_path)
        await store.begin(new_run())
    except TideateError as error:
        say(f"{error.code}: {error}")


def main(task: str, private: str, *more: str) -> None:
    if task == "nobody":
        asyncio.run(nobody(Path(private)))
        return
    store = Store.open(Path(private))
    if task == "open":
        say("opened")
    else:
        asyncio.run(globals()[task](store, *more))
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
