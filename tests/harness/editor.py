"""A real Neovim for tests: private directories, driven from outside, gone without a trace at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pynvim

from tests.harness.fork_server import interpreter
from tests.harness.processes import Brood
from tests.harness.project import Project
from tests.harness.screen import Screen
from tests.harness.state import state_below

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["REPOSITORY", "Editor", "EditorFactory", "find_nvim", "rest"]

REPOSITORY = Path(__file__).resolve().parents[2]
WITHIN = 60.0
"""Seconds until what is waited for has to be there: two loaded cores import a model's library in many."""
POLL = 0.005
"""Seconds between the first looks at the editor: a look takes the processor from what is waited for."""
LONGEST_POLL = 0.05
"""Seconds between two looks after half a second."""
INHERITED = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "VIMRUNTIME")


def find_nvim() -> str:
    """`$TIDEATE_NVIM`, else the one of the virtual environment, else the one on the PATH."""
    named = os.environ.get("TIDEATE_NVIM")
    ours = REPOSITORY / ".venv" / "bin" / "nvim"
    found = named or (str(ours) if ours.exists() else shutil.which("nvim"))
    if not found:
        raise FileNotFoundError("no Neovim: set TIDEATE_NVIM, or `make install`")
    return found


def rest(began: float) -> None:
    """Sleep until the next look, a tenth of the time waited so far within the limits.

    :param began: by `time.monotonic`.
    """
    time.sleep(min(max(POLL, (time.monotonic() - began) / 10), LONGEST_POLL))


class Editor(Project):
    """One headless Neovim with the plugin on its runtimepath.

    Never a blocking call while Neovim waits for a key: `wait` and `feed` look at its mode first.
    """

    def __init__(
        self,
        home: Path,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        args: tuple[str, ...] = (),
        ui: tuple[int, int] | None = None,
        python3: bool = False,
    ) -> None:
        """Start it.

        :param home: an empty directory for HOME and all XDG directories.
        :param cwd: where Neovim starts; `home/project` by default.
        :param env: set on top of a bare environment; no key of the person's gets in.
        :param ui: columns and rows of an attached screen, None for no UI.
        :param python3: whether it has Neovim's own provider of Python; the first Python file that it opens
            makes it start every interpreter on the PATH to find one, which takes longer than most tests.
        """
        self.home = home
        super().__init__(cwd or home / "project")
        self.cwd = self.root
        self.cwd.mkdir(parents=True, exist_ok=True)
        self.brood = Brood()
        # a socket's path is limited to about 100 bytes, so not under pytest's long directories
        self._socket_dir = tempfile.TemporaryDirectory(prefix="tideate-")
        self.socket = Path(self._socket_dir.name) / "nvim"
        self._log = (home / "nvim.log").open("wb")
        command = [find_nvim(), "--headless", "-u", "NORC", "-i", "NONE", "-n"]
        command += ["--cmd", f"set runtimepath^={REPOSITORY}", "--listen", str(self.socket)]
        command += [*([] if python3 else ["--cmd", "let g:loaded_python3_provider = 0"]), *args]
        self.process = subprocess.Popen(
            command,
            cwd=self.cwd,
            env=self._environment(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        try:
            self.nvim = self._attach()
            self.ui = Screen(self.socket, *ui) if ui else None
        except BaseException:
            self._end()
            raise

    @property
    def state(self) -> Path:
        """The private state of the project that it started in; it may not exist yet."""
        return state_below(self.home / "state", self.cwd)

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        python = extra.get("TIDEATE_PYTHON") or interpreter()
        own = {"HOME": str(self.home), "TIDEATE_PYTHON": python}
        for name in ("CONFIG", "DATA", "STATE", "CACHE", "RUNTIME"):
            folder = self.home / name.lower()
            folder.mkdir(mode=0o700, exist_ok=True)
            own[f"XDG_{name}_{'DIR' if name == 'RUNTIME' else 'HOME'}"] = str(folder)
        return kept | own | dict(extra) | self.brood.environment()

    def _attach(self) -> pynvim.Nvim:
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError):
                return pynvim.attach("socket", path=str(self.socket))
            time.sleep(POLL)
        raise RuntimeError(f"Neovim did not start: {self.output()}")

    # -- doing ------------------------------------------------------------------------------------

    def lua(self, code: str, *args: Any) -> Any:
        """Run Lua and return its value; `args` are `...` there."""
        return self.nvim.request("nvim_exec_lua", code, list(args))

    def command(self, command: str) -> None:
        self.nvim.command(command)

    def feed(self, keys: str) -> None:
        """Type keys as a person would (`<CR>` and the like are translated), and let them be handled."""
        self.nvim.input(keys)
        self.settle()

    def double_click(self, buf: int, line: int) -> None:
        """Click twice on a line of a buffer that is seen, without a limit of the time between the clicks."""
        win, place = self.lua(
            "local win = vim.fn.bufwinid((...)) return { win, vim.fn.screenpos(win, select(2, ...), 1) }",
            buf,
            line,
        )
        if not place["row"]:
            raise LookupError(f"line {line} of window {win} is not on the screen")
        self.command("set mouse=a mousetime=600000")
        for action in ("press", "release") * 2:
            self.nvim.request("nvim_input_mouse", "left", action, "", 0, place["row"] - 1, place["col"] - 1)
        self.settle()

    def edit(self, path: Path | str, text: str | bytes | None = None) -> int:
        """Open a file, written first if `text` is given; returns the buffer's number."""
        path = self.cwd / path
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return int(
            self.lua("vim.cmd.edit(vim.fn.fnameescape(...)) return vim.api.nvim_get_current_buf()", str(path))
        )

    def set_lines(self, lines: list[str], buf: int = 0) -> None:
        self.nvim.api.buf_set_lines(buf, 0, -1, True, lines)

    # -- seeing -----------------------------------------------------------------------------------

    def lines(self, buf: int = 0) -> list[str]:
        return list(self.nvim.api.buf_get_lines(buf, 0, -1, True))

    def mode(self) -> str:
        return str(self.nvim.api.get_mode()["mode"])

    def blocked(self) -> bool:
        """Whether Neovim waits for a key in the middle of a command, so that calls would wait too."""
        return bool(self.nvim.api.get_mode()["blocking"])

    def messages(self) -> str:
        """The output of `:messages`."""
        return str(self.nvim.api.exec2("messages", {"output": True})["output"])

    def screen(self) -> list[str]:
        """The visible screen by lines; needs `ui`."""
        assert self.ui, "start the Editor with ui=(columns, rows)"
        return self.ui.refresh(self.blocked)

    def output(self) -> str:
        """Neovim's own output to its terminal."""
        self._log.flush()
        return Path(self._log.name).read_text(errors="replace")

    # -- waiting ----------------------------------------------------------------------------------

    def wait(self, expression: str, timeout: float = WITHIN, *args: Any) -> Any:
        """Wait until a Lua expression is neither nil nor false, and return its value.

        :param timeout: seconds.
        :raises AssertionError: it did not become true; says what Neovim shows instead.
        """
        return self.wait_for(lambda: self.lua(f"return {expression}", *args), expression, timeout)

    def wait_screen(self, text: str, timeout: float = WITHIN) -> list[str]:
        """Wait until a line of the screen contains `text`, and return the screen as it is then."""
        shown = self._wait_drawn(lambda lines: any(text in line for line in lines), timeout)
        if shown is None:
            raise AssertionError(f"not on the screen within {timeout} s: {text}\n" + "\n".join(self.screen()))
        return shown

    def wait_screen_without(self, text: str, timeout: float = WITHIN) -> list[str]:
        """Wait until no line of the screen contains `text`, and return the screen as it is then."""
        shown = self._wait_drawn(lambda lines: not any(text in line for line in lines), timeout)
        if shown is None:
            raise AssertionError(
                f"still on the screen after {timeout} s: {text}\n" + "\n".join(self.screen())
            )
        return shown

    def _wait_drawn(self, wanted: Callable[[list[str]], bool], timeout: float) -> list[str] | None:
        """Wait for a screen; never an old one that Neovim only has not drawn anew yet."""
        end = time.monotonic() + timeout
        while not wanted(lines := self.screen()):
            left = end - time.monotonic()
            if left <= 0:
                return None
            assert self.ui
            drawn = self.ui.wait_flush(min(left, 0.2))
            if drawn and wanted(drawn):
                return lines if wanted(lines := self.screen()) else drawn
        return lines

    def wait_for(self, look: Callable[[], Any], what: str, timeout: float = WITHIN) -> Any:
        """Wait until `look` returns something true; it is not called while Neovim waits for a key."""
        began = time.monotonic()
        while True:
            if not self.blocked():
                value = look()
                if value:
                    return value
            if time.monotonic() > began + timeout:
                raise AssertionError(f"not within {timeout} s: {what}\n{self._state()}")
            rest(began)

    def settle(self) -> None:
        """Wait until typed keys were handled, or Neovim waits for more of them."""
        # Neovim takes keys before calls, and looks for calls only when it has no key left
        if not self.blocked() and not self.blocked():
            self.lua("return true")

    def _state(self) -> str:
        if self.blocked():
            return f"Neovim waits for a key in mode {self.mode()!r}\n" + self.output()
        return f"mode {self.mode()!r}; messages:\n{self.messages()}"

    def _hung(self) -> str:
        """The reason that it waits, asked without blocking."""
        said: list[object] = []

        def ask() -> None:
            with (
                contextlib.suppress(OSError, EOFError),
                pynvim.attach("socket", path=str(self.socket)) as other,
            ):
                said.append(other.api.get_mode())

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(10)
        return f"mode {said}, messages:\n{self.output()}"

    # -- the end ----------------------------------------------------------------------------------

    def children(self) -> set[int]:
        """The processes that this Neovim started, directly or not."""
        return self.brood.pids() - {self.process.pid}

    def quit(self, within: float = WITHIN) -> None:
        """Leave as a person does, `:qall!`, and wait for the process."""
        self._close_ui()
        with contextlib.suppress(OSError, EOFError):
            self.nvim.api.command("qall!", async_=True)
        self.process.wait(within)

    def close(self, within: float = WITHIN) -> None:
        """End Neovim.

        :param within: seconds in which all that it started has to end, too.
        :raises AssertionError: a process that it started does not end.
        """
        if self.process.poll() is None:
            try:
                self.quit()
            except subprocess.TimeoutExpired:
                state = self._hung()
                self._end()
                raise AssertionError(f"Neovim does not end: {state}") from None
        survivors = [] if self.brood.gone(within) else self.brood.commands()
        self._end()
        assert not survivors, f"still running after Neovim ended: {survivors}"

    def _close_ui(self) -> None:
        if getattr(self, "ui", None):
            self.ui.close()  # type: ignore[union-attr]  # just seen
            self.ui = None

    def _end(self) -> None:
        self._close_ui()
        self.brood.kill()
        self.process.wait(60)
        with contextlib.suppress(AttributeError, OSError):
            self.nvim.close()
        self._log.close()
        self._socket_dir.cleanup()


class EditorFactory(Protocol):
    """Starts editors that end with the test."""

    def __call__(self, **options: Any) -> Editor: ...
