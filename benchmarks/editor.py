"""Costs in the editor: start-up, host, streaming, status, events and reviews, beside their targets.

It measures tideate alone. The benchmarks install their peers from PyPI, npm and Debian; plugins such as
codecompanion.nvim, avante.nvim and gp.nvim were not found there, so that nothing is compared with them.

``--short`` takes fewer samples. The exit code is 1 only if something could not be measured: figures of a
busy machine are no verdict.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pynvim

from benchmarks.editor_edit import edit_figures
from benchmarks.editor_review import review_figures
from benchmarks.editor_tools import tool_figures
from benchmarks.figures import Figure, console, targets_table
from tests.harness.editor import REPOSITORY, Editor, find_nvim
from tests.harness.model_server import ModelServer
from tideate_core.editor.bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LUA = Path(__file__).with_name("editor.lua")
RUN = "0" * 32
WORD = "word "
RECEIVE = "require('tideate.events').receive(...)"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    starts: int
    hosts: int
    tokens: int
    events: int
    rounds: int
    frames: int
    decisions: int


STEPS = 50
"""Steps that stream at the same time."""
SIZES = {False: Size(30, 10, 20_000, 20_000, 10, 300, 1_000), True: Size(8, 3, 5_000, 5_000, 3, 100, 100)}


@contextlib.contextmanager
def started(**options: Any) -> Iterator[Editor]:
    """Give an editor with the stop-watches as the Lua module `bench`."""
    with (
        tempfile.TemporaryDirectory(prefix="tideate-bench-") as home,
        closing(Editor(Path(home), **options)) as editor,
    ):
        editor.lua("package.loaded.bench = loadfile(...)()", str(LUA))
        yield editor


# -- start-up -----------------------------------------------------------------------------------------


def load_cost(samples: int) -> Figure:
    """Source plugin/ and call setup() in Neovims that know nothing of the plugin yet."""
    costs = []
    for _ in range(samples):
        with started(args=("--noplugin",)) as editor:
            cost = editor.lua("return require('bench').load(...)", str(REPOSITORY))
            costs.append(cost["plugin"] + cost["setup"])
    return Figure("plugin/ and setup()", costs, "ms", 1.0)


def whole_start(samples: int) -> list[Figure]:
    """Start and leave Neovim with and without the plugin, by turns."""
    bare = [find_nvim(), "--headless", "-n", "-i", "NONE", "-u", "NORC"]
    plugin = [*bare, "--cmd", f"set runtimepath^={REPOSITORY}", "-c", "lua require('tideate').setup({})"]
    times: dict[str, list[float]] = {"without the plugin": [], "with the plugin": []}
    for _ in range(samples):
        for name, command in zip(times, (bare, plugin), strict=True):
            begun = time.perf_counter()
            subprocess.run([*command, "-c", "qall!"], stdin=subprocess.DEVNULL, check=True)
            times[name].append((time.perf_counter() - begun) * 1000)
    figures = [Figure(f"start and quit, {name}", values, "ms") for name, values in times.items()]
    return [*figures, Figure("with / without", [figures[1].value / figures[0].value])]


# -- host ---------------------------------------------------------------------------------------------


def host_start(samples: int) -> list[Figure]:
    """Time the first `:Workflow` until the host is ready, and the editor's longest pause meanwhile."""
    ready, pauses, processor, returned = [], [], [], []
    for _ in range(samples):
        with started() as editor:
            editor.lua("require('bench').first_command()")
            result = editor.wait("require('bench').ready", 30)
            ready.append(result["ready"])
            pauses.append(result["pause"])
            processor.append(result["processor"])
            returned.append(editor.lua("return require('bench').returned"))
    return [
        Figure("first :Workflow → it returns", returned, "ms"),
        Figure("first :Workflow → host ready", ready, "ms", 150),
        *_pause("longest pause meanwhile", pauses, processor),
    ]


def _pause(name: str, clock: list[float], processor: list[float]) -> list[Figure]:
    """Return a pause by the clock and by Neovim's processor time, which a busy machine makes no longer."""
    return [Figure(name, clock, "ms", 16), Figure(f"{name}, processor time", processor, "ms", 16)]


# -- streaming and status -----------------------------------------------------------------------------


@contextlib.contextmanager
def with_model(server: ModelServer) -> Iterator[Editor]:
    """Yield an editor with a started host and a model server on loopback."""
    with started(ui=(100, 40)) as editor:
        setup = {"adapter": "bench", "adapters": {"bench": {"base_url": server.base_url, "model": "bench"}}}
        editor.lua("require('tideate').setup(...)", setup)
        editor.lua("require('bench').stream('warm up')")
        _checked(editor.wait("require('bench').streamed", 60))
        yield editor


def _checked(result: dict[str, Any]) -> dict[str, Any]:
    if not result["ok"]:
        raise RuntimeError(f"the run failed: {result.get('error')}")
    return result


def streaming(tokens: int) -> list[Figure]:
    """Stream words from a model server through the host into the output window."""
    with ModelServer() as server:
        server.answers("warm up", "warm")
        server.answers("stream", "".join(WORD if n % 12 else "word\n" for n in range(1, tokens + 1)))
        with with_model(server) as editor:
            editor.lua("package.loaded.bench.streamed = nil require('bench').stream('stream')")
            result = _checked(editor.wait("require('bench').streamed", 120))
    rate = result["bytes"] / len(WORD) / (result["ms"] / 1000)
    return [
        Figure(f"{tokens} tokens streamed into the window", [rate], "tokens/s", 2000, at_least=True),
        *_pause("longest pause meanwhile", [result["pause"]], [result["processor"]]),
    ]


def status_time() -> Figure:
    """Time `get_status()` while a run waits for its model."""
    with ModelServer() as server:
        server.answers("warm up", "warm")
        gate = server.holds("hold")
        with with_model(server) as editor:
            editor.lua("require('tideate').run('ask', {prompt = 'hold'})")
            gate.wait_started()
            samples = [float(editor.lua("return require('bench').status_time(20000)")) for _ in range(5)]
            editor.lua("require('tideate').cancel()")
            editor.wait("not require('tideate').is_running()")
    return Figure("get_status()", samples, "µs", 10)


# -- events -------------------------------------------------------------------------------------------


def _event(number: int) -> dict[str, Any]:
    step = ("one", "two")[number // 2 % 2]
    name = "COMPLETED" if number % 2 else "STARTED"
    data = {"step": step, "index": number // 2 % 2 + 1, "total": 2, "duration_ms": 1}
    return {"type": "event", "name": f"SD_EVENT_STEP_{name}", "execution_id": RUN, "at": 0, "data": data}


def events(count: int) -> list[Figure]:
    """Send events from another thread through the bridge to Lua's state, ui and autocmds."""
    with started(ui=(100, 40)) as editor:
        editor.lua("require('bench').open_window()")
        first = editor.wait("require('bench').opened", 10)
        editor.lua("require('bench').count_events(...)", RUN, count)
        nvim = pynvim.attach("socket", path=str(editor.socket))
        bridge = Bridge(nvim.loop, lambda batch: nvim.exec_lua(RECEIVE, batch, async_=True))
        result = _beside(nvim, lambda: _post(bridge, count, editor))
        nvim.close()
    return [
        Figure(f"{count} events, Python → Lua", [count / (result["ms"] / 1000)], "events/s"),
        *_pause("longest pause meanwhile", [result["pause"]], [result["processor"]]),
        *_pause("opening the first output window", [first["ms"]], [first["used"]]),
        *_pause("longest pause until it is coloured", [first["pause"]], [first["processor"]]),
    ]


def _post(bridge: Bridge, count: int, editor: Editor) -> dict[str, Any]:
    for number in range(count):
        bridge.post(_event(number))
    counted: dict[str, Any] = editor.wait("require('bench').counted", 60)
    return counted


def _beside(nvim: pynvim.Nvim, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run the connection's loop here while a thread does the work; return the work's result."""
    results: list[dict[str, Any]] = []

    def run() -> None:
        try:
            results.append(work())
        finally:
            nvim.loop.call_soon_threadsafe(nvim.stop_loop)

    worker = threading.Thread(target=run)
    nvim.run_loop(lambda *_: None, lambda *_: None, worker.start)
    worker.join()
    if not results:
        raise RuntimeError("the events did not arrive")
    return results[0]


# -- panel --------------------------------------------------------------------------------------------


def panel(frames: int) -> list[Figure]:
    """Stream answers of many steps at once into the panel, and the same text into a plain scratch buffer."""
    pauses: dict[str, list[list[float]]] = {"panel": [], "scratch": []}
    drawings = []
    for _ in range(3):
        for name, found in pauses.items():
            with started(ui=(200, 60)) as editor:
                editor.lua(f"require('bench').{name}(...)", STEPS, frames)
                found.append(editor.wait(f"require('bench').{name}_pause", 120))
                if name == "panel":
                    drawings.append(float(editor.lua("return require('bench').drawing_time")))
    (clock, processor), (plain, plain_processor) = (zip(*found, strict=True) for found in pauses.values())
    name, beside = (
        f"longest pause, {STEPS} steps stream in the panel",
        "the same text in a plain scratch buffer",
    )
    return [
        *_pause(name, [*clock], [*processor]),
        Figure("processor time of a drawing of it", drawings, "ms"),
        Figure(beside, [*plain], "ms"),
        Figure(f"{beside}, processor time", [*plain_processor], "ms"),
    ]


# -- completion ---------------------------------------------------------------------------------------


def completion(count: int = 100_000) -> list[Figure]:
    """Type mentions of files in a project of many, beside Neovim's own `matchfuzzy()` over the same names."""
    words = ("core", "engine", "server", "client", "test", "render", "model", "parse", "token", "store")
    drawn = random.Random(1)
    names = ["/".join(drawn.choices(words, k=drawn.randint(2, 6))) + f"{at}.py" for at in range(count)]
    queries = [
        word[:end] for word in ("corepars", "tstoken99", "srvmodel") for end in range(1, len(word) + 1)
    ]
    with started() as editor:
        keys, peer = editor.lua("return require('bench').complete(...)", names, queries)
    return [
        Figure(f"completion over {count:,} files, a key", keys, "ms", 30),
        Figure("the same search by matchfuzzy()", peer, "ms"),
        Figure("ours / matchfuzzy()", [statistics.median(keys) / statistics.median(peer)]),
    ]


# -- tools --------------------------------------------------------------------------------------------


def tools(rounds: int) -> list[Figure]:
    """Call a model's tools of the editor beside a language server."""
    with started(ui=(100, 40)) as editor:
        return tool_figures(editor, rounds)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    size, out = SIZES["--short" in arguments], console()
    groups: list[Callable[[], list[Figure]]] = [
        lambda: [load_cost(size.starts), *whole_start(size.starts)],
        lambda: host_start(size.hosts),
        lambda: streaming(size.tokens),
        lambda: [status_time()],
        lambda: events(size.events),
        lambda: panel(size.frames),
        lambda: edit_figures(with_model, size.rounds),
        lambda: completion(),
        lambda: tools(size.rounds),
        lambda: review_figures(started, size.decisions),
    ]
    figures: list[Figure | None] = []
    with out.status("measuring"):
        for group in groups:
            figures += [*group(), None]
    out.print(targets_table(figures, "tideate in the editor"))
    out.print("tideate alone: no other plugin is measured beside it", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
