"""Life of a live task: layout, a run with a model, reduced recording, and replay elsewhere."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from scripts.reduce_recording import reduce_recording
from tests.harness.shell import Shell
from tests.live.replayed import configure, replay, run
from tests.live.tasks import LiveTask, Rename
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow


TASK = """
package = "shop"
before = "1.0"
after = "2.0"
tests = "tests"
sources = ["shop/price.py"]
hidden = "rate"
drop_tests = ["test_web.py"]
[pytest]
pythonpath = ["."]
[rename.names]
shop = "kiosk"
[rename.words]
price = "amount"
"""
PRICE = "def price(net):\n    return net * 2\n"
WITH_RATE = "def price(net, rate=2):\n    return net * rate\n"
OLDER = "from shop.price import price\n\n\ndef test_price():\n    assert price(2) == 4\n"
NEWER = OLDER + "\n\ndef test_rate():\n    assert price(2, rate=3) == 6\n"


def unpack(cache: Path, version: str, price: str, tests: str) -> None:
    texts = {
        "shop/__init__.py": "",
        "shop/price.py": price,
        "tests/test_price.py": tests,
        "tests/test_web.py": "import no_such_module\n",
        "README.md": "shop\n",
        "shop.egg-info/SOURCES.txt": "shop\n",
    }
    for name, text in texts.items():
        path = cache / f"shop-{version}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def task(tmp_path: Path) -> LiveTask:
    folder, cache = tmp_path / "01-shop", tmp_path / "cache"
    folder.mkdir()
    (folder / "task.toml").write_text(TASK)
    (folder / "request.txt").write_text("make the rate an argument\n")
    tests = {"change": ["tests.test_price::test_rate"], "older": 1}
    (folder / "expected.json").write_text(json.dumps(tests))
    unpack(cache, "1.0", PRICE, OLDER)
    unpack(cache, "2.0", WITH_RATE, NEWER)
    return LiveTask(folder, cache, sys.executable)


def test_a_task_is_laid_without_the_change_and_under_other_names(task: LiveTask, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    task.lay(tree)
    files = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert {name for name in files if not name.startswith(".git/")} == {
        *(".gitignore", "pyproject.toml", "kiosk/__init__.py", "kiosk/amount.py", "tests/test_price.py"),
    }
    assert (tree / "kiosk/amount.py").read_text() == PRICE.replace("price", "amount")
    assert task.failures(tree) == ["tests.test_price::test_rate"]
    task.solve(tree)
    assert task.failures(tree) == []
    (tree / "kiosk/amount.py").write_text(WITH_RATE.replace("price", "amount").replace("rate=2", "rate=1"))
    assert task.failures(tree) == ["1 older tests"]


def test_names_are_replaced_in_three_cases_and_words_as_a_whole() -> None:
    rename = Rename(names={"shop": "kiosk"}, words={"price": "amount"})
    assert rename("SHOP Shop workshop price prices") == "KIOSK Kiosk workkiosk amount prices"
    assert rename.path("shop/price.py") == "kiosk/amount.py"


def test_a_run_is_made_anew_elsewhere_by_its_reduced_recording(
    task: LiveTask, shell: Shell, server: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole, reduced = shell.home / "whole.jsonl", task.folder / "multi_file.jsonl"
    files = [{"action": "modify", "path": "kiosk/amount.py", "why": "takes the rate"}]
    edits = [{"search": "def amount(net):", "replace": "def amount(net, rate=2):"}]
    more = [{"search": "net * 2", "replace": "net * rate"}]
    planning, working = "Which files have to", "Carry it out completely"
    server.calls(planning, "read_file", {"path": "kiosk/amount.py"}, times=1)
    server.calls(planning, "submit_plan", {"files": files}, times=1)
    server.calls(working, "edit_file", {"path": "kiosk/amount.py", "edits": edits}, times=1)
    server.calls(working, "edit_file", {"path": "kiosk/amount.py", "edits": more}, times=1)
    server.calls(working, "submit_work", {"summary": "The rate is an argument."}, times=1)
    live = f'adapter = "live"\n[adapters.live]\nbase_url = "{server.base_url}"\nmodel = "scripted"\n'
    configure(shell, task, live)
    shell.env["TIDEATE_RECORD"] = str(whole)
    run(shell, task, "multi_file")
    assert reduce_recording(whole, reduced) == 5
    asked = len(server.requests)
    again = Shell(tmp_path_factory.mktemp("another-place"))
    shown = replay(again, task, reduced)
    assert len(server.requests) == asked
    notices = [event["data"]["message"] for event in shown["events"] if event["name"] == EventName.NOTICE]
    assert sum("holds no prompts" in notice for notice in notices) == 1
    with reduced.open("a") as file:
        file.write(reduced.read_text().splitlines()[-1].replace('"begun":4', '"begun":5') + "\n")
    more_again = Shell(tmp_path_factory.mktemp("once-more"))
    with pytest.raises(AssertionError, match="5 of 6 recorded turns were used"):
        replay(more_again, task, reduced)
    again.close()
    more_again.close()
