"""Scenes with agents in private copies: one at a terminal, and one over the Agent Client Protocol."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.screenshots.scenes import NOTICE
from tests import harness

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.screenshots.scenes import Player

AGENT: Final = r"""#!/bin/sh
echo 'helper: ready'
while printf '> ' && read -r task; do
  case $task in
    *loop*)
      sed -i 's/result = result + price/result += price/' shop.py
      echo 'Edited shop.py: total() is one line shorter to read.' ;;
    *words*)
      sed -i 's/found/names/' shop.py
      sed -i '/> 0/d' test_shop.py
      echo 'make all' > .envrc
      rm report.py
      echo 'Edited shop.py and test_shop.py, added .envrc, deleted report.py.' ;;
  esac
done
"""
TESTS: Final = """from shop import total


def test_total():
    assert total([1, 2]) == 3
    assert total([1]) > 0
"""
SCRIPTED: Final = Path(harness.__file__).with_name("acp_agent.py")
CONFIG: Final = """
[adapters.helper]
acp = ["{python}", "-S", "{agent}", "{script}"]

[agents.helper]
writable = ["{script.parent}"]

[workflows.agent]
adapter = "helper"
"""
REVIEW: Final = "\x1c\x0c"
"""`<C-\\><C-l>`"""


def _program(it: Player, name: str, text: str) -> None:
    path = it.project.parent / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def _guard(it: Player) -> None:
    """Guard a program, land two of its tasks, and list sessions."""
    (it.project / "test_shop.py").write_text(TESTS, encoding="utf-8")
    _program(it, "helper", AGENT)
    _program(it, "codegen", "#!/bin/sh\necho 'version = 2' > version.py\n")
    it.type(":Workflow guard helper\r")
    it.wait_for("helper: ready")
    it.type("shorten the loop\r")
    it.wait_for("one line shorter")
    it.type(REVIEW)
    it.wait_for("ga accept")
    it.take("guard")
    it.type("gAg\r")
    it.wait_for("1 file changed")
    it.type(":12\r^cwchosen\x1b")
    it.wait_for("chosen = []")
    it.type("\x17ji")
    it.wait_for("-- TERMINAL --")
    it.type("better words\r")
    it.wait_for("deleted report.py")
    it.type("\x1c\x0e:close\r")
    it.type(":Workflow land\r")
    it.wait_for("conflict")
    it.wait_gone(NOTICE)
    it.type("gl")
    it.wait_for("4 files")
    it.take("land")
    it.type("gX")
    it.wait_for("2: decline all")
    it.type("2\r")
    it.wait_for("declined")
    it.type(":Workflow guard codegen\r")
    it.wait_for("version = 2")
    it.wait_for("ga accept")
    it.type("q")
    it.wait_for("land waits")
    it.wait_gone(NOTICE)
    it.type(":Workflow status\r")
    it.wait_for("guard codegen")
    it.take("sessions")


def _agent(it: Player) -> None:
    """Watch an agent over ACP at work."""
    read = {"toolCallId": "1", "title": "shop.py", "kind": "read", "status": "completed"}
    edit = {"toolCallId": "2", "title": "shop.py", "kind": "edit", "status": "completed"}
    test = {"toolCallId": "3", "title": "pytest -q", "kind": "execute", "status": "in_progress"}
    steps = ["Read the shop", "Shorten the loops", "Run the tests"]
    turn: list[dict[str, Any]] = [
        {"call": read},
        {"plan": [[steps[0], "completed"], [steps[1], "completed"], [steps[2], "in_progress"]]},
        {"call": edit},
        {"call": test},
        {"receive": "session/cancel"},
    ]
    script = it.project.parent / "agent" / "helper.json"
    script.parent.mkdir()
    script.write_text(json.dumps({"turns": [turn]}), encoding="utf-8")
    path = it.project.parent / "config" / "tideate" / "config.toml"
    with path.open("a", encoding="utf-8") as file:
        file.write(CONFIG.format(python=sys.executable, agent=SCRIPTED, script=script))
    it.type(":Workflow agent shorten the loops\r")
    it.wait_for("pytest -q")
    it.take("agent")


ACTS: Final[dict[str, Callable[[Player], None]]] = {"guard": _guard, "agent": _agent}
