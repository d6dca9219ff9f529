"""Fixtures and options of all tests: Hypothesis' profiles, and the runs of `make crash` and `make stress`."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.harness.model_server import ModelServer
from tests.harness.processes import Brood

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator
    from pathlib import Path

    from tests.harness.bench import Bench
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.shell import Shell

# No deadline: several tests share two cores, and a slow example is not a wrong one.
settings.register_profile("test", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("test"), derandomize=True, print_blob=True)
examples = int(os.environ.get("TIDEATE_EXAMPLES") or 5000)
settings.register_profile("fuzz", settings.get_profile("test"), max_examples=examples, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "test")

CRASH_FILES = ("test_crash", "test_faults", "test_host_faults", "test_signals")
"""Modules whose tests kill a process, cut a stream or break a write; others carry the marker themselves."""
TIMES = int(os.environ.get("TIDEATE_TIMES") or 1)
"""How often each test with the marker `concurrency` runs: side by side, things go well by chance, too."""

# that of ordinary users; those who try another one say so; before modules that make files are imported
os.umask(int(os.environ.get("TIDEATE_UMASK") or "002", 8))

SAMPLE = int(os.environ.get("TIDEATE_SAMPLE") or 1)
"""Of each test with the marker `bulk`, every so many variants run; 1 runs all of them."""

SLOW_LIMIT = 300
"""Seconds for a test with the marker `slow`: some do hundreds of things, on a busy machine."""

STATE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # a shell starts what it puts into the background with these ignored, and children would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    # databases are made known there: never in the tester's own
    config.stash[STATE] = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="tideate-state-")
    config.addinivalue_line("markers", "crash: kills a process, cuts a stream, breaks a write (`make crash`)")
    config.addinivalue_line("markers", "concurrency: things happen side by side in it (`make stress`)")


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[STATE], ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many workers again as cores: a good part of their time they wait for editors and servers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + cores // 2


@pytest.fixture
def brood() -> Iterator[Brood]:
    """All processes of a test; none outlives it."""
    brood = Brood()
    yield brood
    brood.kill()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Scripted model of a test."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def tools() -> bool:
    """Tell whether the bench's model can call tools; a module of tests may say otherwise."""
    return False


@pytest.fixture
async def bench(tmp_path: Path, server: ModelServer, tools: bool) -> AsyncIterator[Bench]:
    """A runner in the test's process, over the scripted model."""
    from tests.harness.bench import Bench

    root = tmp_path / "project"
    root.mkdir()
    bench = Bench(root, server, tools=tools)
    yield bench
    await bench.aclose()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """The real command in a project."""
    from tests.harness.shell import Shell

    shell = Shell(tmp_path)
    yield shell
    shell.close()


@pytest.fixture
def answering(shell: Shell, server: ModelServer) -> ModelServer:
    """The scripted model, as the shell's default adapter."""
    shell.use(server)
    return server


@pytest.fixture
def start_editor(tmp_path: Path) -> Iterator[EditorFactory]:
    """Start editors with options of `Editor`; end all of them after the test."""
    from tests.harness.editor import Editor

    started: list[Editor] = []

    def start(**options: Any) -> Editor:
        home = tmp_path / f"editor{len(started)}"
        home.mkdir()
        started.append(Editor(home, **options))
        return started[-1]

    yield start
    failures = []
    for editor in started:
        try:
            editor.close()
        except AssertionError as failure:
            failures.append(str(failure))
    assert not failures, "\n".join(failures)


@pytest.fixture
def editor(start_editor: EditorFactory) -> Editor:
    """A headless Neovim with the plugin and no configuration, without a screen."""
    return start_editor()


@pytest.fixture
def turn(request: pytest.FixtureRequest) -> int:
    """Which of TIDEATE_TIMES runs of a concurrency test this is."""
    number: int = request.param
    return number


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if TIMES > 1 and metafunc.definition.get_closest_marker("concurrency"):
        metafunc.fixturenames.append("turn")
        metafunc.parametrize("turn", range(TIMES), indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without a look for garbage: of ten thousand tests, these took half of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # nor is anything of them looked at again
        gc.enable()


def sampled(items: list[pytest.Item], every: int) -> list[pytest.Item]:
    """Return the tests without most variants of those with the marker `bulk`: the first and each nth stay."""
    variants = Counter[str]()
    kept = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        if not item.get_closest_marker("bulk") or variants[test] % every == 0:
            kept.append(item)
        variants[test] += 1
    return kept


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:] = sampled(items, SAMPLE)
    fuzzing = config.getoption("--hypothesis-profile") == "fuzz"
    least = config.getoption("timeout") or 0  # with thousands of examples, the limits of markers are too low
    # each takes half a minute and more: at the end, one worker would run them while the others have nothing
    items.sort(key=lambda item: item.path.parent.name != "live")
    for item in items:
        if item.path.stem in CRASH_FILES:
            item.add_marker(pytest.mark.crash)
        own = item.get_closest_marker("timeout")
        if fuzzing and (own is None or own.args[0] < least):
            item.add_marker(pytest.mark.timeout(least), append=False)
        elif own is None and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root
