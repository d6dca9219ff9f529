"""`:Workflow task` in the editor: output, questions, results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_trust import trust
from tests.harness.dialogs import hurry, say_yes
from tests.harness.runs import configure
from tests.harness.tally import AFTER, LINES, TASK, as_it_stands, make_project
from tests.harness.tasks import CODE, Model, edits

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

LIMIT = 60
"""Seconds for a stage."""
WRONG = edits({**CODE, "src/tally/lines.py": LINES.replace("len(text.splitlines())", "0")})
WAITS = """(function()
  local waiting = require('tideate.ui').pending()[1]
  if waiting then
    return waiting.ready and waiting.kind
  end
  return _G.done and 'end'
end)()"""
BEGIN = """
_G.done, _G.heard = nil, {}
vim.api.nvim_create_autocmd('User', { pattern = { 'TideateGate*', 'TideateWorkflowRolledBack' },
  callback = function(event) table.insert(_G.heard, { event.match, event.data }) end })
local run = require('tideate').run
require('tideate').run = function(name, opts, on_done)
  return run(name, opts, function(result) _G.done = result end)
end
"""


@pytest.fixture
def nvim(small_editor: Editor, server: ModelServer) -> Editor:
    """A small screen in the small project, with trusted checks."""
    make_project(small_editor.cwd)
    configure(small_editor, server)
    trust(small_editor)
    hurry(small_editor)
    small_editor.lua(BEGIN)
    small_editor.edit("src/tally/__init__.py")
    return small_editor


def waits(editor: Editor) -> str:
    """Wait until a question of this kind waits for a key, or the task has ended."""
    return str(editor.wait(WAITS, LIMIT))


def go(editor: Editor, **keys: str) -> list[str]:
    """Give a key for each kind of question until the task has ended; returns the kinds."""
    answer = {"document": "y", "review": "gAg<CR>", "gate": "y", **keys}
    kinds = [waits(editor)]
    while kinds[-1] != "end":
        editor.feed(answer[kinds[-1]])
        kinds.append(waits(editor))
    return kinds[:-1]


def done(editor: Editor) -> dict[str, Any]:
    return dict(editor.lua("return _G.done"))


def output(editor: Editor) -> str:
    editor.command("Workflow output")
    text = editor.lua("""
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        if vim.api.nvim_buf_get_name(buf):find('^tideate://task/') then
          return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\\n')
        end
      end""")
    return str(text)


def test_a_task_is_carried_out_and_saved(nvim: Editor, server: ModelServer) -> None:
    Model(server)
    nvim.command(f"Workflow task {TASK}")
    assert go(nvim) == ["document", "review", "review"]
    result = done(nvim)
    assert (result["ok"], result["rollback_performed"]) == (True, False)
    assert {name: (nvim.cwd / name).read_bytes().decode() for name in CODE} == CODE
    assert not nvim.lua("return vim.bo.modified")
    text = output(nvim)
    for number, gate in enumerate(("plan", "audit", "execution", "documentation", "verification"), 1):
        assert f"✓ **gate {number}, {gate}** passed" in text
    for check in ("type_check", "lint", "tests", "build", "documentation"):
        assert f"✓ **{check}** passed" in text
    heard = nvim.lua("return _G.heard")
    assert [(name, data["number"]) for name, data in heard] == [("TideateGatePassed", n) for n in range(1, 6)]


def test_the_plan_that_the_person_wrote_is_what_is_carried_out(nvim: Editor, server: ModelServer) -> None:
    model = Model(server)
    nvim.command(f"Workflow task {TASK}")
    assert waits(nvim) == "document"
    nvim.feed("e")
    nvim.command("%s/count the lines of a text/x/")
    nvim.feed(":w<CR>y")
    # nine characters too few for an objective: what was written is kept, and asked about again
    nvim.wait_screen("✗ ")
    assert waits(nvim) == "document"
    nvim.feed("e")
    nvim.command("%s/^x$/count all lines as I like it/")
    nvim.feed(":w<CR>y")
    go(nvim)
    assert done(nvim)["ok"]
    assert "count all lines as I like it" in model.prompts("executor")[0]
    assert "count the lines of a text" not in model.prompts("executor")[0]


def test_what_verification_finds_is_in_the_quickfix_list_and_all_is_taken_back(
    nvim: Editor, server: ModelServer
) -> None:
    model = Model(server)
    model.says("executor", WRONG)
    model.says("corrector", WRONG)
    before = as_it_stands(nvim.cwd)
    nvim.command("cd /")  # paths are the project's, wherever the person is
    nvim.command(f"Workflow task {TASK}")
    go(nvim)
    result = done(nvim)
    assert (result["ok"], result["rollback_performed"]) == (False, True)
    assert as_it_stands(nvim.cwd) == before
    assert nvim.lines() == (nvim.cwd / "src/tally/__init__.py").read_text().splitlines()
    listed = nvim.lua("return vim.fn.getqflist({ title = 1, items = 1 })")
    assert listed["title"] == f"tideate: tests (run {result['execution_id'][:8]})"
    named = nvim.lua("return vim.api.nvim_buf_get_name(vim.fn.getqflist()[1].bufnr)")
    assert named == str(nvim.cwd / "tests" / "test_lines.py")
    text = output(nvim)
    assert "✗ **tests** failed" in text
    assert "✗ **gate 5, verification** failed" in text
    assert "**Rolled back** what the run wrote." in text
    assert "`src/tally/lines.py`" in text
    (told,) = [data for name, data in nvim.lua("return _G.heard") if name == "TideateWorkflowRolledBack"]
    assert "src/tally/lines.py" in told["restored"]
    nvim.command("Workflow show")
    nvim.wait("vim.bo.filetype == 'tideate-runs'")
    page = "\n".join(nvim.lines())
    assert "     ✗ tests failed" in page
    assert "     ✗ gate 5, verification failed" in page
    assert "     Rolled back what the run wrote." in page
    # at 24 rows, what was decided is seen before the steps are
    seen = "\n".join(nvim.wait_screen("Rolled back what the run wrote."))
    for words in ("plan      count the lines of a text", "audit     approved", "✗ tests", "✗ verification"):
        assert words in seen, seen


def test_a_check_that_is_off_is_off_in_what_is_stored_and_a_task_tells_only_its_stages(
    nvim: Editor, server: ModelServer
) -> None:
    config = nvim.cwd / ".tideate" / "config.toml"
    lines = config.read_text().splitlines()
    config.write_text("\n".join('lint = "off"' if one.startswith("lint") else one for one in lines) + "\n")
    trust(nvim)
    Model(server)
    nvim.command(f"Workflow task {TASK}")
    go(nvim)
    text = output(nvim)
    headings = [line for line in text.splitlines() if line.startswith(("#", "→"))]
    stages = ["planning", "auditing", "executing", "documenting", "verifying"]
    assert headings == ["# task", *(f"## {stage}" for stage in stages)]
    assert "> · **lint** off" in text
    nvim.command("Workflow show")
    nvim.wait("vim.bo.filetype == 'tideate-runs'")
    page = "\n".join(nvim.lines())
    assert "checks    ✓ type_check · lint ✓ tests" in page
    assert "     · lint off\n" in page
    assert "✗" not in page


def test_a_no_to_the_plan_writes_nothing(nvim: Editor, server: ModelServer) -> None:
    Model(server)
    before = as_it_stands(nvim.cwd)
    nvim.command(f"Workflow task {TASK}")
    assert go(nvim, document="n") == ["document"]
    assert done(nvim)["cancelled"] is True
    assert as_it_stands(nvim.cwd) == before
    assert "**Nothing to roll back**" in output(nvim)


def test_the_graph_follows_the_task(nvim: Editor, server: ModelServer) -> None:
    Model(server)
    nvim.command(f"Workflow task {TASK}")
    assert waits(nvim) == "document"
    nvim.command("Workflow graph task")
    at = nvim.lua("return require('tideate').get_status().current_state")
    assert at == "awaiting_audit_gate"
    nvim.wait_for(lambda: "● awaiting_audit_gate" in graph(nvim), "the state is marked")
    nvim.lua("require('tideate.ui').focus()")
    go(nvim)
    nvim.wait_for(lambda: "● awaiting_audit_gate" not in graph(nvim), "the mark moved on")
    assert done(nvim)["ok"]


def graph(editor: Editor) -> str:
    """The bar over the drawing, which names the state."""
    return str(
        editor.lua("""
          for _, win in ipairs(vim.api.nvim_list_wins()) do
            if vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):find('^tideate://graph/') then
              return vim.wo[win].winbar
            end
          end
          return ''""")
    )


def test_a_task_is_completed_and_in_the_menu(editor: Editor) -> None:
    assert editor.lua("return vim.fn.getcompletion('Workflow tas', 'cmdline')") == ["task"]
    (task,) = editor.lua("""return vim.tbl_filter(function(one) return one.name == 'task' end,
      require('tideate.registry').list())""")
    assert (task["kind"], task["needs_prompt"]) == ("machine", True)


def test_a_host_that_dies_leaves_what_was_written_in_the_plan(nvim: Editor, server: ModelServer) -> None:
    Model(server)
    nvim.command(f"Workflow task {TASK}")
    assert waits(nvim) == "document"
    nvim.feed("e")
    nvim.feed("ggO> a thought<Esc>")
    host = nvim.lua("return require('tideate.host').info().pid")
    nvim.lua("vim.uv.kill(..., 9)", host)
    nvim.wait("_G.done", LIMIT)
    assert nvim.lines()[0] == "> a thought"
    nvim.command("quit")
    nvim.command("Workflow resume")
    say_yes(nvim)
    assert nvim.wait("(require('tideate.ui').pending()[1] or {}).ready", LIMIT)
    nvim.feed("e")
    assert nvim.lines()[0] == "> a thought"
    nvim.feed(":w<CR>y")
    nvim.wait_for(lambda: waits(nvim) == "review", "the task goes on", LIMIT)
    nvim.feed("gAg<CR>")
    assert nvim.wait("(require('tideate.ui').pending()[1] or {}).ready", LIMIT)
    nvim.feed("gAg<CR>")
    nvim.wait_for(lambda: (nvim.cwd / "CHANGELOG.md").read_text() == AFTER["CHANGELOG.md"], "written", LIMIT)
    nvim.wait("not require('tideate').is_running()", LIMIT)
    assert nvim.lua("return require('tideate.state').runs()[1].state") == "completed"
