"""Questions outside runs, and warnings: no file name or value can forge a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import wait_focused
from tests.harness.hidden import HIDDEN, LOOKALIKES, original, tagged, taken, unseen
from tests.harness.shell import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.editor import Editor

pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow]

ALL = {name: text for name, text in (HIDDEN | LOOKALIKES).items() if name != "half a pair"}
RAW = {name: text for name, text in ALL.items() if "\x00" not in text}
"""What can stand in a file as it is."""
FAKE = "x\n  - nothing that needs trust\ntrusted already, as it is now: 3 of 3\nTrust this? [y/N] y"
"""A value that goes on with lines that look like tideate's."""
NAMES = {
    "line": "a.py\nrestored: b.py",
    "return": "a.py\r\x1b[2Kb.py",
    "right to left": "\u202eyp.exe",
    "Markdown": "a`\n\n## b",
    "separator": "a.py\u2028b.py",
}


def quoted(text: str) -> str:
    """Encode a text as a TOML or YAML string made of escapes only."""
    return '"' + "".join(f"\\U{ord(one):08x}" for one in text) + '"'


def table(section: str, values: dict[str, str]) -> str:
    return f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())


# -- trust, at the terminal ------------------------------------------------------------------------------

SETTINGS = {
    "command of a check": table("verify", {"tests": f"[{quoted(FAKE)}]"}),
    "variables of checks": table("verify", {"inherit": f"[{quoted(FAKE)}]"}),
    "command of a server": table("mcp.servers.x", {"command": f'["sh", "-c", {quoted(FAKE)}]'}),
    "name of a server": table(f"mcp.servers.{quoted(FAKE)}", {"command": '["sh"]'}),
    "address of a server": table("mcp.servers.x", {"url": quoted(FAKE)}),
    "command for a token": table(
        "mcp.servers.x", {"url": '"http://a"', "token_command": f"[{quoted(FAKE)}]"}
    ),
    "variable of a token": table("mcp.servers.x", {"url": '"http://a"', "token_env": quoted(FAKE)}),
    "variables of a server": table("mcp.servers.x", {"command": '["sh"]', "inherit": f"[{quoted(FAKE)}]"}),
    "address of an adapter": table("adapters.x", {"base_url": quoted(FAKE), "model": '"m"'}),
    "name of a model": table("adapters.x", {"base_url": '"http://a"', "model": quoted(FAKE)}),
    "name of an adapter": table(f"adapters.{quoted(FAKE)}", {"base_url": '"http://a"', "model": '"m"'}),
    "command for a key": table(
        "adapters.x", {"base_url": '"http://a"', "api_key_command": f"[{quoted(FAKE)}]"}
    ),
    "variable of a key": table("adapters.x", {"base_url": '"http://a"', "api_key_env": quoted(FAKE)}),
    "default adapter": f"adapter = {quoted(FAKE)}\n",
    "adapter of a workflow": table("workflows.ask", {"adapter": quoted(FAKE)}),
    "name of a workflow": table(f"workflows.{quoted(FAKE)}", {"require_confirmation": "false"}),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_would_be_trusted_takes_a_line_each(shell: Shell, setting: str) -> None:
    shell.write(".tideate/config.toml", SETTINGS[setting])
    done = shell.run("trust", ".tideate/config.toml")
    assert done.returncode == 3
    heading, *lines = done.stderr.splitlines()
    assert heading == ".tideate/config.toml would be able to"
    effects = [line for line in lines if line.startswith("  - ")]
    assert any(r"x\n  - nothing that needs trust\ntrusted" in line for line in effects), done.stderr
    assert lines[: len(effects)] == effects
    assert lines[len(effects)].startswith("--- /dev/null")
    assert not any(line.startswith(("trusted", "Trust")) for line in lines)


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The output of `tideate trust` for all texts, by place."""
    shell = Shell(tmp_path_factory.mktemp("trusting"))
    tests = ", ".join(quoted(tagged(name, text)) for name, text in ALL.items())
    shell.write(".tideate/config.toml", table("verify", {"tests": f"[{tests}]"}))
    shell.write(".tideate/prompts/ask.md", "\n".join(tagged(name, text) for name, text in RAW.items()))
    try:
        shown = {
            part: shell.run("trust", f".tideate/{part}").stderr for part in ("config.toml", "prompts/ask.md")
        }
    finally:
        shell.close()
    yield {"effect": shown["config.toml"], "changed line": shown["prompts/ask.md"]}


@pytest.mark.parametrize(
    ("surface", "name"),
    [*(("effect", name) for name in ALL), *(("changed line", name) for name in RAW)],
)
def test_nothing_that_is_trusted_is_hidden(trusting: dict[str, str], surface: str, name: str) -> None:
    text = taken(name, trusting[surface])
    assert not unseen(text)
    assert ALL[name] not in text
    assert original(text) == ALL[name]


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\n \n"])
def test_blanks_do_not_push_away_what_would_be_trusted(shell: Shell, blank: str) -> None:
    command = f'["sh", "-c", {quoted("true" + blank * 3000 + "; rm -rf ~")}]'
    shell.write(".tideate/config.toml", table("verify", {"tests": command}))
    terminal = shell.open("trust", ".tideate/config.toml", rows=40)
    terminal.wait_for("[y/N]")
    rows = terminal.text.partition("--- /dev/null")[0].split("\n")
    assert len(rows) < 12 or blank == "\n \n", len(rows)
    assert "; rm -rf ~" in terminal.text
    terminal.type("n\n")
    assert terminal.wait_exit() == 3


@pytest.mark.parametrize("typed", ["y\n", "yes\n", "\ny\n"])
def test_what_was_typed_before_trusts_nothing(shell: Shell, typed: str) -> None:
    shell.write(".tideate/config.toml", table("verify", {"tests": '["true"]'}))
    terminal = shell.open("trust", ".tideate/config.toml")
    terminal.type(typed)
    terminal.wait_for("[y/N]")
    terminal.type("\n")
    assert terminal.wait_exit() == 3
    assert not (shell.state / "trust.json").exists()


# -- trust and restoring, in Neovim ------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["name", "effect", "root"])
@pytest.mark.parametrize("name", NAMES)
def test_the_question_of_trust_has_a_line_for_each_thing(nvim: Editor, name: str, part: str) -> None:
    values = {"name": "config.toml", "effect": "run `true`", "root": "/home/a", part: NAMES[name]}
    item = {
        "kind": "file",
        "name": values["name"],
        "effects": [values["effect"]],
        "trusted": False,
        "changes": "",
    }
    plan = {"root": values["root"], "token": "", "items": [item]}
    question = nvim.lua("return require('tideate.trust').question(...)", plan)
    assert len(question.split("\n")) == 3, question
    assert not unseen(question.replace("\n", ""))


@pytest.mark.parametrize("status", ["added", "modified", "deleted"])
@pytest.mark.parametrize("name", NAMES)
def test_a_restore_names_each_file_on_a_line(nvim: Editor, name: str, status: str) -> None:
    result = {"files": [{"path": NAMES[name], "status": status, "changes": ""}], "more": 0}
    words = "return { require('tideate.ui.pages.snapshots.text').restore_words(..., true) }"
    details = nvim.lua(words, result)[1]
    assert len(details.split("\n")) == 1
    assert not unseen(details)
    assert original(details.partition("`")[2][:-1]) == NAMES[name]


def test_the_name_of_a_snapshot_takes_no_second_line(nvim: Editor) -> None:
    one = {"id": "a" * 32, "name": "x”?\nNothing is lost.\x1b[2J"}
    name = nvim.lua("return require('tideate.ui.pages.snapshots.text').name(...)", one)
    assert name == r"aaaaaaaa “x”?\nNothing is lost.\x1b[2J”"


@pytest.mark.parametrize("name", NAMES)
def test_a_notice_of_files_takes_one_line(nvim: Editor, name: str) -> None:
    nvim.command("messages clear")
    run = {"execution_id": "a" * 32, "state": "completed", "workflow": "flow", "can": ["rollback"]}
    nvim.lua(
        """
        local stored, run, path = require('tideate.stored_runs'), ...
        local ask = stored.ask
        stored.ask = function(_, _, on_result)
          local restored = { path = path, action = 'modify', note = '', diff = '' }
          on_result({
            run = run, files = { path }, diffs = { restored },
            merged = {}, changed_since = {}, reasons = vim.empty_dict(),
          })
        end
        local confirm = require('tideate.ui.questions.confirm_action')
        local yes = confirm.yes
        confirm.yes = function(question, on_yes)
          _G.details = question.details
          on_yes()
        end
        require('tideate.ui.run_actions').act('rollback', run, '', function() end)
        stored.ask, confirm.yes = ask, yes""",
        run,
        NAMES[name],
    )
    (line,) = nvim.messages().strip().split("\n")
    assert original(line.partition("rolled back: ")[2]) == NAMES[name]
    assert original(nvim.lua("return _G.details").removeprefix("- ")) == NAMES[name]


CHOICES = """
inputs:
  mode:
    description: {description}
    enum: {choices}
steps:
  - id: one
    task: Say {{{{ inputs.mode }}}}.
"""
SELECTED = """
_G.offered = nil
vim.ui.select = function(items, opts)
  _G.offered = { opts.prompt, vim.tbl_map(opts.format_item, items) }
end
"""


def test_the_choices_of_an_input_take_a_line_each(nvim: Editor) -> None:
    texts = [tagged(name, text) for name, text in ALL.items()]
    folder = nvim.cwd / ".tideate" / "workflows"
    folder.mkdir(parents=True)
    description, choices = quoted(FAKE + HIDDEN["right to left"]), ", ".join(map(quoted, texts))
    (folder / "choose.yaml").write_text(CHOICES.format(description=description, choices=f"[{choices}]"))
    nvim.lua(SELECTED)
    nvim.command("Workflow choose go")
    nvim.wait("_G.offered")
    prompt, shown = nvim.lua("return _G.offered")
    assert not unseen(prompt)
    assert len(shown) == len(texts)
    for text, name in zip(shown, ALL, strict=True):
        assert not unseen(text)
        assert original(taken(name, text)) == ALL[name]


# -- warnings of files that other tools run -----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_warning_names_its_file_on_one_line(nvim: Editor, name: str) -> None:
    found = {"path": NAMES[name], "reason": "direnv runs it"}
    words = nvim.lua("return require('tideate.ui.questions.executed_files').words(...)", found)
    assert "\n" not in words
    assert not unseen(words)
    assert original(words) == f"! other tools run {NAMES[name]}: direnv runs it"


@pytest.mark.parametrize("kind", ["plan", "document", "review"])
def test_a_warning_is_seen_before_a_question_is_answered(nvim: Editor, kind: str) -> None:
    """Long texts do not push the question off the screen."""
    many = "\n".join(f"line {number}" for number in range(300))
    path = "a" * 200 + "/.envrc"
    hunk = {"start": 0, "old": [], "new": many.split("\n")}
    payloads: dict[str, dict[str, Any]] = {
        "plan": {"files": [{"path": path, "action": "create", "why": many}]},
        "document": {"text": many},
        "review": {
            "files": [{"path": path, "action": "create", "before": "", "filetype": "", "hunks": [hunk]}]
        },
    }
    payload = {**payloads[kind], "demonstration": False}
    executed = [{"path": path, "reason": "direnv runs it"}]
    nvim.lua(
        """
        local kind, payload, executed = ...
        require('tideate.ui').confirm('warned' .. kind, { execution_id = ('0'):rep(32), workflow = 'w',
          step = 's', kind = kind, message = 'Go on?', payload = payload, executed = executed },
          function() end, error)""",
        kind,
        payload,
        executed,
    )
    wait_focused(nvim)
    rows = "".join(row.strip("│ ") for row in nvim.wait_screen("run"))
    assert "direnv runs it" in rows
    nvim.lua("require('tideate.ui').close()")
