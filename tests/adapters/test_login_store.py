"""File of logins: mode, content, concurrent processes."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
import sys
import threading
from contextlib import contextmanager
from queue import Queue
from typing import TYPE_CHECKING

import pytest

from tideate_core.adapters.login_store import LoginStore
from tideate_core.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

WRITE_MANY = """
import sys
from tideate_core.adapters.login_store import LoginStore
for number in range(30):
    LoginStore().put(f"{sys.argv[1]}{number}", {"kind": "key", "key": "k"})
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "state"


def test_a_login_is_kept_for_its_owner_only() -> None:
    store = LoginStore()
    assert store.get("openai") is None
    store.put("openai", {"kind": "key", "key": "sk-mine"})
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert store.path.parent.stat().st_mode & 0o777 == 0o700
    assert (LoginStore().get("openai") or {})["key"] == "sk-mine"


def test_a_login_that_is_removed_is_gone_from_the_file() -> None:
    store = LoginStore()
    store.put("openai", {"kind": "key", "key": "sk-mine"})
    assert store.remove("openai")
    assert not store.remove("openai")
    assert b"sk-mine" not in store.path.read_bytes()
    assert [path.name for path in store.path.parent.iterdir() if "logins.json-" in path.name] == []


def test_a_file_that_others_can_read_is_refused() -> None:
    LoginStore().put("openai", {"kind": "key", "key": "sk-mine"})
    LoginStore().path.chmod(0o644)
    with pytest.raises(StateError, match="chmod 600"):
        LoginStore().get("openai")


def test_a_directory_that_other_programs_and_users_write_to_is_refused() -> None:
    LoginStore().put("openai", {"kind": "key", "key": "sk-mine"})
    (LoginStore().path.parent / "of another program").touch()
    LoginStore().path.parent.chmod(0o777)
    with pytest.raises(StateError, match="chmod 700"):
        LoginStore().get("openai")


@pytest.mark.parametrize("content", [b"sk-secret", b"[]", b'{"logins": {"a": "sk-secret"}}', b"\xff", b""])
def test_a_file_that_is_broken_is_named_and_not_quoted(content: bytes) -> None:
    store = LoginStore()
    store.put("openai", {})
    store.path.write_bytes(content)
    with pytest.raises(StateError, match="not a file of logins") as raised:
        store.get("openai")
    assert "sk-secret" not in str(raised.value)
    with pytest.raises(StateError):
        store.put("anthropic", {})
    assert store.path.read_bytes() == content


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    store = LoginStore()
    store.put("openai", {})
    elsewhere = tmp_path / "elsewhere.json"
    store.path.rename(elsewhere)
    store.path.symlink_to(elsewhere)
    with pytest.raises(StateError):
        store.get("openai")


@pytest.mark.slow
@pytest.mark.concurrency
def test_what_two_processes_write_at_once_is_all_kept() -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITE_MANY, name]) for name in "ab"]
    assert [one.wait(60) for one in writers] == [0, 0]
    assert len(LoginStore().all()) == 60


HOLD = """
import fcntl, os, sys
os.makedirs(os.path.dirname(sys.argv[1]), mode=0o700, exist_ok=True)
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_elsewhere(name: str) -> Iterator[None]:
    """Hold a lock of the store in another process."""
    command = [sys.executable, "-c", HOLD, str(LoginStore().path.with_name(name))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate()


def is_free(name: str) -> bool:
    with LoginStore().path.with_name(name).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


async def refresh(entered: asyncio.Event) -> None:
    async with LoginStore().refreshing("openai"):
        entered.set()
        await asyncio.Event().wait()


async def put(entered: asyncio.Event) -> None:
    store = LoginStore()
    await store.in_thread(store.put, "openai", {"kind": "key", "key": "sk-mine"})
    entered.set()


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Queue[threading.Thread]:
    """Threads that tried to take a lock."""
    found: Queue[threading.Thread] = Queue()
    real = fcntl.flock

    def flock(lock: int, how: int) -> None:
        found.put(threading.current_thread())
        real(lock, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    return found


@pytest.mark.parametrize(("work", "name"), [(refresh, "login-openai.lock"), (put, "logins.json.lock")])
async def test_a_lock_is_waited_for_beside_the_loop_and_not_held_after_a_cancellation(
    work: Callable[[asyncio.Event], Coroutine[None, None, None]],
    name: str,
    attempts: Queue[threading.Thread],
) -> None:
    entered = asyncio.Event()
    with held_elsewhere(name):
        task = asyncio.create_task(work(entered))
        for _ in range(2):  # it tries again
            thread = await asyncio.to_thread(attempts.get, timeout=60)
            assert thread is not threading.main_thread(), "the event loop stands still meanwhile"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 60)
        assert not entered.is_set()
        while not attempts.empty():
            attempts.get()
    assert is_free(name), "the cancelled one took it all the same"
    assert LoginStore().all() == {}


async def test_who_is_cancelled_while_it_has_the_lock_releases_it() -> None:
    entered = asyncio.Event()
    task = asyncio.create_task(refresh(entered))
    await asyncio.wait_for(entered.wait(), 60)
    assert not is_free("login-openai.lock")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert is_free("login-openai.lock")


async def test_one_refreshes_while_the_other_waits() -> None:
    order: list[str] = []
    entered = asyncio.Event()

    async def refresh(name: str) -> None:
        async with LoginStore().refreshing("openai-codex"):
            order.append(f"{name} in")
            entered.set()
            await asyncio.sleep(0)
            order.append(f"{name} out")

    async with asyncio.timeout(60), LoginStore().refreshing("github-copilot"), asyncio.TaskGroup() as both:
        both.create_task(refresh("a"))
        await entered.wait()
        both.create_task(refresh("b"))
    assert order == ["a in", "a out", "b in", "b out"]
