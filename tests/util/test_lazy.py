"""Lazy imports: each program loads only needed modules, and packages export their names."""

from __future__ import annotations

import ast
import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from types import ModuleType

LAZY = (
    *("adapters", "agents", "app", "engine", "machines", "mentions", "snapshots", "store", "workflows"),
    "workspace",
)

LIBRARIES = frozenset(
    {
        "ast_grep_py",
        "difflib",
        "httpx2",
        "jinja2",
        "jsonschema",
        "markdown_it",
        "mcp",
        "openai",
        "pydantic_ai",
        "ruamel.yaml",
    }
)
"""Libraries that runs of plain functions do not need."""

OF_CHANGES = frozenset(
    f"tideate_core.workspace.{name}" for name in ("journal", "rollback", "staging", "transaction")
)
OF_OTHER_RUNS = frozenset(
    {
        "tideate_core.adapters.local_process",
        "tideate_core.adapters.recordings",
        "tideate_core.adapters.sources",
        "tideate_core.agents.coder",
        "tideate_core.builtin",
        "tideate_core.engine.fork.checkpoints",
        "tideate_core.engine.drivers.machine",
        "tideate_core.machines.language",
        "tideate_core.workflows.catalog",
        "tideate_core.workflows.checking",
        "tideate_core.workflows.parsing",
    }
)

RUN = """
import asyncio, json, sys
from pathlib import Path
from tideate_core.adapters import AdapterPool
from tideate_core.config import Config
from tideate_core.engine import PolicyFrontEnd, RunRequest, WorkflowRunner
from tideate_core.store import Store
from tideate_core.workflows import PromptLibrary, WorkflowDefinition, WorkflowRegistry
from tideate_core.workspace import Workspace

loaded = []

async def step(context):
    loaded.extend(sys.modules)

async def main(place):
    registry, config = WorkflowRegistry(), Config()
    registry.register(WorkflowDefinition.chain("w", ["a"]), {"a": step})
    workspace = Workspace(place, private=place)
    runner = WorkflowRunner(
        registry, AdapterPool(config), config, PolicyFrontEnd(True, lambda event: None),
        lambda request: workspace, PromptLibrary(), lambda: Store.open(place),
    )
    result = await runner.run(RunRequest(name="w"))
    await runner.aclose()
    assert result.ok, result.error

asyncio.run(main(Path(sys.argv[1])))
print(json.dumps(loaded))
"""

LOADED = """
import json, sys
%s
print(json.dumps(list(sys.modules)))
"""

SHELL = """
import json, sys
sys.argv = ["tideate", *sys.argv[1:]]
from tideate_core.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(list(sys.modules)))
"""


def loaded_by(program: str, place: Path, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=place,
        env={**os.environ, "XDG_STATE_HOME": str(place / "state"), "XDG_CONFIG_HOME": str(place / "config")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def package(name: str) -> ModuleType:
    return importlib.import_module(f"tideate_core.{name}")


def promised_to_the_type_checker(exporting: ModuleType) -> set[tuple[str, str]]:
    """Return module and name of each import for type checkers in a package."""
    tree = ast.parse(Path(exporting.__file__ or "").read_text(encoding="utf-8"))
    blocks = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {(node.module or "", alias.name) for node in imports for alias in node.names}


@pytest.mark.slow
def test_a_run_has_loaded_nothing_that_its_steps_do_not_need(tmp_path: Path) -> None:
    loaded = loaded_by(RUN, tmp_path, str(tmp_path))
    assert "tideate_core.engine.runner" in loaded
    assert sorted(loaded & (LIBRARIES | OF_CHANGES | OF_OTHER_RUNS)) == []


def test_the_history_is_shown_without_what_runs_and_what_renders_markdown(tmp_path: Path) -> None:
    loaded = loaded_by(SHELL, tmp_path, "history")
    assert "tideate_core.cli.commands.history" in loaded
    heavy = {"asyncio", "pydantic", "markdown_it", "pygments", "rich.markdown", "tideate_core.engine.runner"}
    assert sorted(loaded & (heavy | LIBRARIES)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("done", "not_loaded"),
    [
        (
            "from tideate_core.agents.tools.table import tools_named\n"
            "assert tools_named(['files', 'search', 'symbols', 'git', 'editor', 'skills'], editor=False)",
            {"tideate_core.agents.tools.checks", "tideate_core.agents.tools.editor"},
        ),
        (
            "from tideate_core.builtin.buffer_workflows import query",
            {"tideate_core.agents.coder", "tideate_core.edits.resolve"},
        ),
    ],
    ids=["the tools that only read", "the step of `ask`"],
)
def test_a_question_waits_for_nothing_that_only_edits_and_checks_need(
    tmp_path: Path, done: str, not_loaded: set[str]
) -> None:
    loaded = loaded_by(LOADED % done, tmp_path)
    assert loaded & {"tideate_core.agents.tools.files", "tideate_core.builtin.buffer_workflows"}
    assert sorted(loaded & not_loaded) == []


@pytest.mark.parametrize("name", LAZY)
def test_a_package_gives_all_that_it_lists(name: str) -> None:
    exporting = package(name)
    promised = promised_to_the_type_checker(exporting)
    assert {each for _, each in promised} == set(exporting.__all__)
    assert set(exporting.__all__) <= set(dir(exporting))
    for module, each in promised:
        assert getattr(exporting, each) is getattr(importlib.import_module(module), each)


@pytest.mark.parametrize("name", LAZY)
def test_no_name_of_a_package_is_also_a_module_of_it(name: str) -> None:
    # importing the module would replace the name
    exporting = package(name)
    modules = {module.name for module in pkgutil.iter_modules(exporting.__path__)}
    assert modules.isdisjoint(exporting.__all__)


def test_a_name_that_a_package_does_not_have_is_an_attribute_error() -> None:
    get, _, _ = exports("tideate_core.store")
    with pytest.raises(AttributeError, match=r"module 'tideate_core.store' has no attribute 'Stor'"):
        get("Stor")


def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = package("store")
    get, names, _ = exports(store.__name__)
    monkeypatch.delattr(store, "Store", raising=False)
    assert "Store" in names()
    assert get("Store") is vars(store)["Store"]
