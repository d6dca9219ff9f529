"""An edit of some lines: from key to prompt, from prompt to request, from the model's line to the screen."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.figures import Figure
from tests.harness.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.harness.editor import Editor

    WithModel = Callable[[ModelServer], AbstractContextManager[Editor]]

LUA: Final = Path(__file__).with_suffix(".lua")
LINES: Final = 1_000
"""Lines of the file."""
SELECTED: Final = 40
TARGET: Final = 50.0


def edit_figures(with_model: WithModel, rounds: int) -> list[Figure]:
    """Edit lines in the middle of a file again and again; the first round is listed alone.

    :param with_model: starts an editor whose host runs, with a model server.
    """
    lines = [f"value_{number} = compute({number}, {number + 1})" for number in range(LINES)]
    middle = lines[LINES // 2 : LINES // 2 + SELECTED]
    opened, asked, shown = [], [], []
    with ModelServer() as server:
        server.answers("warm up", "warm")
        with with_model(server) as editor:
            editor.lua("package.loaded.bench_edit = loadfile(...)()", str(LUA))
            editor.lua("require('tideate.ui.output').hide()")
            editor.command(f"nmap gz {SELECTED}<Plug>(tideate-edit-line)")
            editor.edit("a.py", "\n".join(lines) + "\n")
            for number in range(rounds + 1):
                first = "```python\n" + "\n".join(middle[:5]) + "\n"
                rest = [f"changed_{number} = {middle[5]}\n", "\n".join(middle[6:]) + "\n```"]
                gate = server.holds(f"edit{number}!", text=first + "".join(rest), pieces=[first, *rest])
                editor.lua("vim.api.nvim_win_set_cursor(0, {...})", LINES // 2 + 1, 0)
                editor.lua("require('bench_edit').open_prompt()")
                opened.append(float(editor.wait("require('bench_edit').opened")))
                editor.wait("not require('tideate.client').busy()")  # a person types longer than that
                editor.lua("require('bench_edit').send(...)", f"edit{number}!")
                gate.wait_started()
                arrived = time.monotonic() * 1000
                asked.append(arrived - float(editor.wait("require('bench_edit').sent")))
                released = time.monotonic() * 1000
                gate.release()
                shown.append(float(editor.wait("require('bench_edit').shown")) - released)
                editor.lua("require('tideate').cancel()")
                editor.wait("require('tideate').get_status() == nil")
    name = f"edit of {SELECTED} of {LINES:,} lines"
    return [
        figure
        for words, samples in (("the first", slice(1)), ("later", slice(1, None)))
        for figure in (
            Figure(f"{name}, {words}: key → prompt window", opened[samples], "ms", TARGET),
            Figure("prompt sent → request at the model", asked[samples], "ms"),
            Figure("the model's changed line → shown", shown[samples], "ms"),
            Figure(
                "both: all but the model's own time",
                [*map(sum, zip(asked, shown, strict=True))][samples],
                "ms",
                TARGET,
            ),
        )
    ]
