"""The Lua that the documents and help show is run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.documents import blocks
from tests.support.editor import REPOSITORY
from tests.support.runs import configure, result, start

if TYPE_CHECKING:
    from tests.support.editor import Editor
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

HELP = REPOSITORY / "doc"


def example() -> dict[str, str]:
    """The blocks that register a workflow, by where they stand."""
    documents = [block.text for block in blocks("lua")]
    help_text = re.findall(
        r">lua\n(.*?)^<", "".join(map(Path.read_text, HELP.glob("*.txt"))), re.DOTALL | re.MULTILINE
    )
    return {
        where: block
        for where, blocks in (("documents", documents), ("help", help_text))
        for block in blocks
        if "register(" in block
    }


@pytest.mark.parametrize("where", ["documents", "help"])
def test_the_documented_workflow_runs(editor: Editor, server: ModelServer, where: str) -> None:
    configure(editor, server)
    server.answers("say it", "as documented")
    editor.lua("package.preload['lualine'] = function() return { setup = function() end } end")
    editor.lua(example()[where])
    start(editor, "shout", "say it")
    done = result(editor)
    assert done["ok"], done
    assert done["response"] == "AS DOCUMENTED"


def test_the_documented_workflow_passes_an_error_on(editor: Editor, server: ModelServer) -> None:
    configure(editor, server)
    server.fails("say it", 401)
    editor.lua(example()["help"])
    start(editor, "shout", "say it")
    done = result(editor)
    assert done["ok"] is False
    assert "refused the key" in done["error"]
    assert "traceback" not in done["error"]
