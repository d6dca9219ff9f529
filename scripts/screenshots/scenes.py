"""Scenes of the pictures: a small shop, a scripted model, and the keys of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer

FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "shop.py": '''"""A small shop."""


def total(prices):
    result = 0
    for price in prices:
        result = result + price
    return result


def expensive(products, limit):
    found = []
    for product in products:
        if product["price"] > limit:
            found.append(product["name"])
    return found
''',
    "report.py": """from shop import total


def report(prices):
    return f"{len(prices)} prices, {total(prices)} in all"
""",
}
ANALYSIS = """The two functions build a result in a loop.

- `total` adds up numbers: `sum()` does that.
- `expensive` filters a list: a comprehension says it in one expression.

Their names, their arguments and the order of what they return must not change."""
FIRST = """```python
def total(prices):
    print("adding up", len(prices))
    return sum(prices)


def expensive(products, limit):
    return [product["name"] for product in products if product["price"] > limit]
```"""
SECOND = """```python
def total(prices):
    return sum(prices)


def expensive(products, limit):
    return [product["name"] for product in products if product["price"] > limit]
```"""
BECAUSE = "no print in here, callers write to stdout themselves"
TASK = "rename total to sum_of, with its callers"
PLAN = {
    "files": [
        {"action": "modify", "path": "shop.py", "why": "defines total, which is to be named sum_of"},
        {"action": "modify", "path": "report.py", "why": "imports total and calls it"},
    ]
}
HEAD = '```python\n"""A small shop."""\n\n\n'
SHOP_AFTER = SECOND.replace("def total", "def sum_of").replace("```python\n", HEAD)
REPORT_AFTER = "```python\n" + FILES["report.py"].replace("total", "sum_of") + "```"
NOTICE = "╭ tideate ─"
"""Frame of a notice that disappears by itself."""
QUESTION = "is the shop open on Sundays?"


class Player(Protocol):
    """Player of the scenes."""

    server: ModelServer
    project: Path
    is_wide: bool

    def start(self) -> None: ...
    def kill(self) -> None: ...
    def type(self, keys: str) -> None: ...
    def wait_for(self, words: str) -> None: ...
    def wait_gone(self, words: str) -> None: ...
    def take(self, scene: str) -> None: ...


def play(it: Player) -> None:
    """Play all scenes, and take a picture of each."""
    _refactor(it)
    _several_files(it)
    _history(it)
    _failure(it)


def _refactor(it: Player) -> None:
    half = ANALYSIS.index("\n\nTheir")
    analysis = it.server.holds(
        "what must not change", text=ANALYSIS, pieces=[ANALYSIS[:half], ANALYSIS[half:]]
    )
    it.server.answers(ANALYSIS[-40:], FIRST)
    it.server.answers(BECAUSE, SECOND)
    it.type(":4,16Workflow refactor\r")
    it.wait_for("<C-s>")
    it.type("say it with less code, @file:report.py has to work as before")
    it.wait_for("as before")
    it.wait_for("mine")
    it.take("prompt")
    it.type("\x13")
    it.wait_for("in one expression")
    it.take("streaming")
    analysis.release()
    it.wait_for("along this analysis?")
    it.wait_for("y yes")
    it.take("confirm")
    it.type("y")
    it.wait_for("gr reject")
    it.take("review")
    it.type(f"gb{BECAUSE}")
    it.wait_for("themselves")
    it.take("because")
    it.type("\r")
    it.wait_for("hunk 2/2")
    it.type("ga")
    it.wait_for("g<CR> finish")
    it.type("g\r")
    it.wait_for("revision 2")
    it.wait_for("ga accept")
    it.take("round")
    it.type("ga")
    it.wait_for("g<CR> finish")
    it.type("g\r")
    it.wait_for("done")
    it.type(":write\r")
    it.wait_for("written")


def _several_files(it: Player) -> None:
    it.server.answers("Which files have to be", PLAN)
    it.server.answers("Change shop.py", SHOP_AFTER)
    it.server.answers("Change report.py", REPORT_AFTER)
    it.type(f":Workflow multi_file {TASK}\r")
    it.wait_for("report.py")
    it.wait_for("y yes")
    it.take("plan")
    it.type("y")
    it.wait_for("ga accept")
    it.take("files")
    it.type("gp")
    it.wait_for("proposal")
    it.take("beside")
    it.type("gp")
    it.wait_gone("proposal")
    it.type("gA")
    it.wait_for("g<CR> finish")
    it.type("g\r")
    it.wait_for("2 files changed")


def _history(it: Player) -> None:
    it.wait_gone(NOTICE)
    it.type(":Workflow status\r")
    it.wait_for("▸ ✓ refactor")
    it.type("zo")
    it.wait_for("execute")
    it.take("panel")
    it.type("R")
    it.wait_for("y yes")
    it.take("rollback")
    it.type("y")
    it.wait_gone("Roll back 2 files")
    it.type(":Workflow history comprehension\r")
    it.wait_for("runs: comprehension")
    it.wait_for("refactor")
    it.wait_gone(NOTICE)
    it.take("history")
    it.type("q")


def _failure(it: Player) -> None:
    it.server.fails("Sundays", 401, body={"error": {"message": "Incorrect API key provided"}})
    it.type(f":Workflow ask {QUESTION}\r")
    it.wait_for("refused the key")
    it.take("failure")
