"""The Lua that README and help show is run as it stands there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.editor import REPOSITORY
from tests.support.runs import configure, result, start

if TYPE_CHECKING:
    from tests.support.editor import Editor
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

README = REPOSITORY / "README.md"
HELP = REPOSITORY / "doc" / "tideate.txt"


def example() -> dict[str, str]:
    """The blocks that register a workflow, by where they stand."""
    readme = re.findall(r"^```lua\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    help_text = re.findall(r">lua\n(.*?)^<", HELP.read_text(), re.DOTALL | re.MULTILINE)
    return {
        where: block
        for where, blocks in (("README", readme), ("help", help_text))
        for block in blocks
        if "register(" in block
    }


@pytest.mark.parametrize("where", ["README", "help"])
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
