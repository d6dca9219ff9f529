"""Bad input and faults: one clear message, one callback, no change, no process left."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

CODE = "def f():\n    return  1\n\n\nprint(f())\n"
TIDY = "```python\ndef f():\n    return 1\n```"


@pytest.fixture
def nvim(editor: Editor, server: ModelServer) -> Editor:
    configure(editor, server)
    return editor


def refactor(editor: Editor, prompt: str = "tidy", first: int = 1, last: int = 2) -> str:
    """Start `refactor` on lines of the current buffer."""
    return str(
        editor.lua(
            """
            local prompt, first, last = ...
            _G.done, _G.calls = nil, 0
            local context = require('tideate.context').capture({ first, last })
            return require('tideate').run('refactor', { prompt = prompt, context = context }, function(result)
              _G.calls = _G.calls + 1; _G.done = result
            end)
            """,
            prompt,
            first,
            last,
        )
    )


def model_tidies(server: ModelServer, answer: str = TIDY) -> None:
    server.answers("what must not change", "An analysis.")
    server.answers("in one fenced block", answer)


# -- the provider ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (lambda s: s.fails("", 500), "AdapterUnavailable", "failed on its side"),
        (lambda s: s.close(), "AdapterUnavailable", ""),
    ],
)
def test_a_providers_failure_is_a_failed_run(
    nvim: Editor, server: ModelServer, fault: Callable[[Any], None], code: str, words: str
) -> None:
    nvim.edit("a.py", CODE)
    fault(server)
    refactor(nvim)
    done = result(nvim, 40)
    assert (done["ok"], done["error_code"]) == (False, code)
    assert words in done["error"]
    assert nvim.lines(1) == CODE.splitlines()
    assert not nvim.lua("return vim.bo[1].modified")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            lambda s: s.fails("Why", 429, headers={"Retry-After": "30"}),
            "> asked to wait 30 s (2 of 3): adapter",
        ),
        (lambda s: s.holds("Why", before_first=True), "did not answer in time"),
    ],
)
def test_a_request_that_is_made_again_is_told_before_it_is(
    small_editor: Editor, server: ModelServer, fault: Callable[[Any], None], words: str
) -> None:
    configure(small_editor, server, timeout=1 if "in time" in words else 60)
    fault(server)
    start(small_editor, "ask", "Why?")
    small_editor.wait_screen(words)
    small_editor.lua("require('tideate').cancel()")
    assert result(small_editor)["cancelled"]


def test_an_answer_that_is_refused_is_told(small_editor: Editor, server: ModelServer) -> None:
    configure(small_editor, server)
    small_editor.edit("a.py", CODE)
    server.answers("", "```python\ndef f(:\n```", times=1)
    server.holds("")
    start(small_editor, "generate", "do it")
    small_editor.wait_screen("answer refused, asking again")
    small_editor.lua("require('tideate').cancel()")
    assert result(small_editor)["cancelled"]


# -- the buffer -----------------------------------------------------------------------------------------


def tidied_run(nvim: Editor, server: ModelServer, first: int = 1, last: int = 2) -> dict[str, Any]:
    """Run a successful refactoring of lines of the current buffer; return its result."""
    model_tidies(server)
    accept_all(nvim)
    refactor(nvim, first=first, last=last)
    done = result(nvim)
    assert done["ok"], done
    return done


def test_an_unnamed_buffer_can_be_refactored(nvim: Editor, server: ModelServer) -> None:
    nvim.lua("vim.bo.filetype = 'python'")
    nvim.set_lines(CODE.splitlines())
    tidied_run(nvim, server)
    assert nvim.lines(1) == ["def f():", "    return 1", "", "", "print(f())"]


def test_50_000_lines_take_an_edit_in_their_middle(nvim: Editor, server: ModelServer) -> None:
    lines = [f"x{n} = {n}" for n in range(50_000)]
    lines[25_000:25_002] = ["def f():", "    return  1"]
    nvim.edit("big.py", "\n".join(lines) + "\n")
    tidied_run(nvim, server, first=25_001, last=25_002)
    lines[25_001] = "    return 1"
    assert nvim.lines(1) == lines


@pytest.mark.parametrize(
    ("meanwhile", "refused", "lines"),
    [
        (
            "ggO# typed on top<Esc>Go# typed below<Esc>",
            None,
            ["# typed on top", "def f():", "    return 1", "", "", "print(f())", "# typed below"],
        ),
        ("2GA + 1<Esc>", "", ["def f():", "    return  1 + 1", "", "", "print(f())"]),
        (":enew | 1bwipeout!<CR>", "", None),
        (":call setbufvar(1, '&modifiable', 0)<CR>", "not modifiable", CODE.splitlines()),
    ],
    ids=["elsewhere", "in its lines", "deleted", "locked"],
)
def test_an_edit_spares_what_was_done_to_the_buffer_during_the_run(
    nvim: Editor, server: ModelServer, meanwhile: str, refused: str | None, lines: list[str] | None
) -> None:
    nvim.edit("a.py", CODE)
    server.answers("what must not change", "An analysis.")
    gate = server.holds("in one fenced block", text=TIDY)
    accept_all(nvim)
    refactor(nvim)
    gate.wait_started()
    nvim.feed("q")
    nvim.feed(meanwhile)
    gate.release()
    done = result(nvim)
    assert (done["ok"], done.get("error_code")) == (
        refused is None,
        refused if refused is None else "EditConflict",
    )
    assert (refused or "") in (done.get("error") or "")
    assert (nvim.cwd / "a.py").read_text() == CODE
    assert nvim.lua("return vim.api.nvim_buf_is_loaded(1)") == (lines is not None)
    if lines:
        assert nvim.lines(1) == lines


def test_paths_are_the_projects_wherever_the_editor_stands(nvim: Editor, server: ModelServer) -> None:
    nvim.write("pyproject.toml")
    nvim.edit("deep/a.py", CODE)
    nvim.command("cd deep")
    assert tidied_run(nvim, server)["files"] == ["deep/a.py"]


def tidied(body: dict[str, Any]) -> str:
    """Answer with the lines at the end of the prompt, without their double space."""
    asked = str(body["messages"][-1]["content"])
    return asked[asked.rindex("```python") :].replace("return  ", "return ")


def test_two_runs_edit_one_buffer(nvim: Editor, server: ModelServer) -> None:
    nvim.edit("a.py", "def f():\n    return  1\n\n\ndef g():\n    return  2\n")
    server.answers("what must not change", "An analysis.")
    server.answers("in one fenced block", tidied)
    accept_all(nvim)
    code = """
    _G.both = {}
    for _, range in ipairs({ { 1, 2 }, { 5, 6 } }) do
      local context = require('tideate.context').capture(range)
      require('tideate').run('refactor', { prompt = 'tidy', context = context }, function(result)
        table.insert(_G.both, result)
      end)
    end
    """
    nvim.lua(code)
    nvim.wait("#_G.both == 2", 30)
    assert [done["ok"] for done in nvim.lua("return _G.both")] == [True, True]
    assert nvim.lines(1) == ["def f():", "    return 1", "", "", "def g():", "    return 2"]


# -- cancelling -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gate", "review"])
def test_cancel_in_a_dialog_closes_it(nvim: Editor, server: ModelServer, kind: str) -> None:
    nvim.edit("a.py", CODE)
    model_tidies(server)
    nvim.lua(
        """
        local kind = ...
        require('tideate.ui').confirm = function(id, params, respond)
          if params.kind ~= kind then return respond({ accepted = true }) end
          _G.open = id
        end
        require('tideate.ui').withdraw = function(id) _G.withdrawn = id end
        """,
        kind,
    )
    refactor(nvim)
    identity = nvim.wait("_G.open")
    nvim.lua("require('tideate').cancel()")
    assert result(nvim)["cancelled"]
    nvim.wait("_G.withdrawn")
    assert nvim.lua("return _G.withdrawn") == identity
    assert nvim.lines(1) == CODE.splitlines()


def test_cancel_while_writing_takes_the_writing_back(nvim: Editor, server: ModelServer) -> None:
    nvim.edit("a.py", CODE)
    model_tidies(server)
    accept_all(nvim)
    nvim.lua(
        """
        local edit = require('tideate.edit')
        local replace = edit.buffer_replace
        edit.buffer_replace = function(params)
          if not _G.once then
            _G.once = true
            require('tideate').cancel()
          end
          return replace(params)
        end
        """
    )
    refactor(nvim)
    assert result(nvim)["cancelled"]
    assert nvim.lua("return _G.once")
    assert nvim.lines(1) == CODE.splitlines()


# -- the host and the editor ----------------------------------------------------------------------------


def host_pid(editor: Editor) -> int:
    return int(editor.wait("(require('tideate.host').info() or {}).pid"))


def test_a_killed_host_fails_the_run_and_the_next_one_works(nvim: Editor, server: ModelServer) -> None:
    nvim.edit("a.py", CODE)
    gate = server.holds("", times=1)
    refactor(nvim)
    gate.wait_started()
    os.kill(host_pid(nvim), signal.SIGKILL)
    done = result(nvim)
    assert done["error_code"] == "HostDied"
    assert "Run the workflow again" in done["error"]
    gate.wait_disconnected()
    assert nvim.lines(1) == CODE.splitlines()
    server.answers("Why", "because")
    start(nvim, "ask", "Why?")
    assert result(nvim)["response"] == "because"


def test_a_killed_editor_takes_everything_with_it(nvim: Editor, server: ModelServer) -> None:
    gate = server.holds("Why")
    start(nvim, "ask", "Why?")
    gate.wait_started()
    nvim.process.kill()
    nvim.process.wait(60)
    gate.wait_disconnected()
    assert nvim.brood.gone(60), nvim.brood.commands()


def test_quitting_the_editor_ends_the_host_and_its_bundled_model(editor: Editor) -> None:
    start(editor, "ask", "Why is the sky blue?")
    editor.wait("require('tideate').get_status().tokens > 0", 60)
    assert len(editor.children()) >= 2
    editor.quit()
    assert editor.brood.gone(60), editor.brood.commands()


def test_modules_of_the_working_directory_are_not_imported(editor: Editor, server: ModelServer) -> None:
    for name in ("json", "asyncio", "pydantic", "tideate_core"):
        (editor.cwd / f"{name}.py").write_text("raise SystemExit('imported from the working directory')\n")
    configure(editor, server)
    server.answers("Why", "because")
    start(editor, "ask", "Why?")
    assert result(editor)["response"] == "because"


def test_a_broken_configuration_file_is_named(editor: Editor) -> None:
    folder = editor.home / "config" / "tideate"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('adaptor = "x"\n')
    start(editor, "ask", "Why?")
    done = result(editor)
    assert done["error_code"] == "ConfigError"
    assert "config.toml: unknown key 'adaptor'; did you mean 'adapter'?" in done["error"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("hsitory", "history"), ("refcator", "refactor"), ("asy", "say")],
)
def test_a_mistyped_word_suggests_the_nearest_subcommand_or_workflow(
    nvim: Editor, typed: str, meant: str
) -> None:
    start(nvim, typed, "x")
    done = result(nvim)
    assert done["error_code"] == "UnknownWorkflow"
    assert f"unknown workflow '{typed}'; did you mean '{meant}'? (known: " in done["error"]
    nvim.wait("vim.fn.execute('messages'):find(..., 1, true)", 60, f"did you mean '{meant}'")
