"""Further scenes of the tour, each act in a Neovim of its own."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any, Final

from scripts.screenshots.scenes import FILES, NOTICE, PLAN, TASK

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.screenshots.scenes import Player

TOTAL: Final = """```python
def total(prices):
    return sum(prices)
```"""
LOOP: Final = """```python
def total(prices):
    result = 0
    for price in prices:
        result += price
    return result
```"""
SECOND_TOTAL: Final = TOTAL.replace("sum(prices)", "sum(prices, start=0)")
BROKEN: Final = TOTAL.replace("(prices):", "(prices)")
GUIDE: Final = """steps:
  - id: left
    task: say what total does
  - id: right
    task: say what expensive does
  - id: both
    task: |
      join {{ steps.left.result }} and {{ steps.right.result }}
    dependencies: [left, right]
"""


def _outside(it: Player) -> None:
    """Review changes by another tool."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=it.project, check=True)
    text = FILES["shop.py"].replace("result = result + price", "result += price")
    (it.project / "shop.py").write_text(text.replace("limit", "most"), encoding="utf-8")
    it.type(":edit\r:Workflow review HEAD\r")
    it.wait_for("hunk 1/")
    it.wait_for("gr revert")
    it.take("head")


def _edit(it: Player) -> None:
    """Edit a function in place, while the model writes."""
    lines = TOTAL.splitlines(keepends=True)
    rest = it.server.holds("sum()", text=TOTAL, pieces=["".join(lines[:3]), lines[3]])
    it.type(":4,8Workflow edit use sum()\r")
    it.wait_for("return sum(prices)")
    it.take("written")
    rest.release()
    it.wait_for("<CR> keep")
    it.take("kept")
    it.type("\r")
    it.wait_for("1 file changed")


def _models(it: Player) -> None:
    """Compare two models and mix their hunks."""

    def answer(body: dict[str, Any]) -> str:
        return TOTAL if body["model"] == "qwen3-coder" else LOOP

    it.server.answers("what must not change", "It adds up the prices.")
    it.server.answers("in one fenced block", answer)
    it.type(":Workflow model\r")
    it.wait_for("devstral")
    it.take("picker")
    it.type("\x1b")
    it.wait_gone("devstral")
    it.type(":4,8Workflow compare refactor --models=mine,other less code\r")
    it.wait_for("Take which of 2 answers?")
    it.take("compare")
    it.type("1")
    it.wait_for("ga accept")
    it.type("gm")
    it.wait_for("of other")
    it.take("mixed")


def _trouble(it: Player) -> None:
    """Wait for a server, fix a syntax error, edit a hunk, leave and return."""
    words = {"error": {"message": "Rate limit reached for qwen3-coder"}}
    it.server.fails("what must not change", 429, headers={"Retry-After": "8"}, body=words, times=1)
    it.server.answers("what must not change", "It adds up the prices.")
    it.server.answers("in one fenced block", BROKEN)
    it.type(":4,8Workflow refactor less code\r")
    it.wait_for("asked to wait 8 s")
    it.take("retry")
    it.wait_for("along this analysis?")
    it.wait_for("y yes")
    it.type("y")
    it.wait_for("ga accept")
    it.type("ga")
    it.wait_for("g<CR> finish")
    it.type("g\r")
    it.wait_for("Write it anyway?")
    it.wait_for("y yes")
    it.take("syntax")
    it.server.answers("brings new syntax errors. Correct them", SECOND_TOTAL)
    it.type("f")
    it.wait_for("revision 2")
    it.wait_for("ga accept")
    it.type("ge")
    it.wait_for(":w accept")
    it.type("A  # a list of numbers\x1b")
    it.wait_for("a list of numbers")
    it.wait_gone(NOTICE)
    it.take("edit")
    it.type(":write\r")
    it.wait_for("edited by you")
    it.type(":qall!\r")
    it.start()
    it.type(":Workflow review\r")
    it.wait_for("edited by you")
    it.wait_for("g<CR> finish")
    it.wait_gone(NOTICE)
    it.take("again")


def _killed(it: Player) -> None:
    """Kill Neovim while a model answers, and continue in another."""
    gate = it.server.holds("say what expensive does", text="It filters products by their price.")
    it.server.answers("say what total does", "It adds up prices.")
    it.server.answers("join It adds", "One adds up, the other filters.")
    workflows = it.project / ".tideate" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "guide.yaml").write_text(GUIDE, encoding="utf-8")
    it.type(":Workflow guide the shop\r")
    it.wait_for("It adds up prices.")
    gate.wait_started()
    it.type(":Workflow status\r")
    it.wait_for("─┤ right")
    it.take("lanes")
    it.kill()
    gate.wait_disconnected()
    gate.release()
    it.start()
    it.type(":Workflow resume\r")
    it.wait_for("Resumed; done before: left")
    it.wait_for("the other filters.")
    it.take("resumed")
    it.type(":Workflow status\r")
    it.wait_for("runs  ? keys")
    it.type("zo")
    it.wait_for("both")
    it.type("/both\r:nohlsearch\rf")
    it.wait_for("fork of guide")
    it.take("fork")
    it.server.answers("join It sums", "One sums up, the other filters.")
    it.type(":%s/It adds up/It sums up/\r:write\r")
    it.wait_for("One sums up")
    it.type("gg=")
    it.wait_for("Compare guide with:")
    it.type("1\r")
    it.wait_for("result of left")
    it.take("differ")


def _comments(it: Player) -> None:
    """Comment on a plan."""
    it.server.answers("Which files have to be", PLAN)
    it.type(f":Workflow multi_file {TASK}\r")
    it.wait_for("Continue with 2 files?")
    it.wait_for("y yes")
    it.type("jgs")
    it.wait_for("Comment")
    it.type("keep the words of the report\r")
    it.wait_gone("Comment: ")
    it.take("plan-comment")


ACTS: Final[dict[str, Callable[[Player], None]]] = {
    "edit": _edit,
    "outside": _outside,
    "models": _models,
    "trouble": _trouble,
    "killed": _killed,
    "comments": _comments,
}
