"""Worker that opens hostile trees in a real headless Neovim; the runner starts it under strace.

Standard input has a tree's number and turn; otherwise it works like the shell worker.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.harness.editor import Editor, find_nvim, rest
from tests.hostile.cases import Outcome, Tree, trees
from tests.hostile.editor_actions import Action, actions
from tests.hostile.shell_worker import MIB, SECONDS, answer_jobs, make_worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hostile.place import Place
    from tests.hostile.started import Programs

BEGIN: Final = """
local code, argument = ...
_G.ended = false
vim.schedule(function()
  local ok, err = pcall(assert(load(code)), argument)
  _G.ended, _G.failed = true, not ok and tostring(err) or nil
end)
"""
ENDED: Final = "return _G.ended and not require('tideate.client').busy()"
ASKING: Final = "return #require('tideate.ui').pending() > 0"
LEAVE: Final = """
pcall(function() require('tideate').cancel() end)
vim.cmd('silent! fclose!')
vim.cmd('silent! tabonly! | silent! only! | silent! enew!')
vim.cmd('messages clear')
"""
_PEAK: Final = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def _peak(editor: Editor) -> int:
    """Return the largest memory of a Neovim process, in MiB."""
    most = 0
    for pid in editor.brood.pids():
        with suppress(OSError):
            found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
            most = max(most, int(found[1]) // 1024 if found else 0)
    return most


def _outcomes(place: Place, programs: Programs, tree: Tree, turn: int) -> Iterator[Outcome]:
    """Perform all actions in one Neovim with one tree."""
    place.make_hostile(list(tree.malices))
    used = turn // 2 % 2 == 0
    place.give_state(used=used)
    home = place.scratch / f"editor{turn}"
    home.mkdir()
    editor = Editor(home, cwd=place.project, env=place.environment())
    nvim = frozenset({os.path.realpath(find_nvim())})
    try:
        for action in actions(editor, turn):
            if not place.is_as_planted():
                place.make_hostile(list(tree.malices))
            if action.applies(place.project):
                yield _case(place, programs, editor, tree, action, nvim, used=used)
    finally:
        editor.close()


def _case(
    place: Place,
    programs: Programs,
    editor: Editor,
    tree: Tree,
    action: Action,
    nvim: frozenset[str],
    *,
    used: bool,
) -> Outcome:
    programs.skip()
    started = time.monotonic()
    problems = _done(editor, action)
    seconds = time.monotonic() - started
    problems += [f"started: {one}" for one in programs.foreign(nvim)]
    problems += place.changed()
    mib = _peak(editor)
    if mib >= MIB:
        problems.append(f"memory: {mib} MiB")
    state = "used" if used else "new"
    return Outcome(tree.text, action.text, state, seconds, mib, tuple(problems))


def _done(editor: Editor, action: Action) -> list[str]:
    """Perform an action, wait for its end or a question, and close its windows."""
    began = time.monotonic()
    editor.lua(BEGIN, action.code(), action.argument)
    problems = []
    while not _has_ended(editor):
        if time.monotonic() > began + SECONDS:
            problems.append(f"time: no answer within {SECONDS:g} s")
            break
        rest(began)
    if editor.blocked():
        return [*problems, "time: Neovim waits for a key that nobody can leave"]
    messages = editor.messages()
    if "traceback" in messages.lower():
        problems.append(f"traceback: {messages.strip()[-2000:]}")
    editor.lua(LEAVE)
    return problems


def _has_ended(editor: Editor) -> bool:
    return _answer(editor) and bool(editor.lua(ENDED) or editor.lua(ASKING))


def _answer(editor: Editor) -> bool:
    """Leave a prompt of Neovim; return whether there was none."""
    mode = editor.nvim.api.get_mode()
    if mode["blocking"] or mode["mode"].startswith(("c", "r")):
        editor.nvim.input("<C-c>")
        return False
    return True


def main() -> None:
    """Run jobs until the runner stops."""
    place, _, programs = make_worker()
    made = trees(place.forged)
    try:
        answer_jobs(lambda job: _outcomes(place, programs, made[job[0]], job[1]))
    finally:
        place.clean()


if __name__ == "__main__":
    main()
