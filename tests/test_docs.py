"""Tests of the documents: generated help, links, commands and definitions."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cyclopts import CycloptsError

from scripts import help as help_text, reference
from scripts.help import generated
from tests.harness.documents import DOCUMENTS, Block, arguments_of, blocks, shell_lines, the_block
from tests.harness.editor import REPOSITORY, find_nvim
from tideate_core.adapters import Prompt
from tideate_core.adapters.known_providers import known_models, known_providers
from tideate_core.agents.role_files import read_role
from tideate_core.app import STDIN
from tideate_core.builtin.handoff.models import PlanFile
from tideate_core.cli.main import COMMANDS, app
from tideate_core.config import load_config
from tideate_core.errors import AdapterUnavailable
from tideate_core.machines.language import format_text, parse
from tideate_core.mentions.resolver import ContextResolver
from tideate_core.workflows.prompts import BUILTIN_PROMPTS

if TYPE_CHECKING:
    from tideate_core.adapters import Adapter

DOCS = REPOSITORY / "docs"
SURFACE = json.loads(reference.SURFACE.read_text(encoding="utf-8"))
HELP_FILES = sorted((REPOSITORY / "doc").glob("*.txt"))
PICTURE = re.compile(r"(?:\]\(|src(?:set)?=\")([^)\"]+\.svg)")
READ_LUA = """
vim.opt.runtimepath:prepend(vim.fn.getcwd())
local folder = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h')
vim.cmd.runtime('plugin/tideate.lua')
for number = 0, tonumber(arg[1]) - 1 do
  local path = ('%s/%d.lua'):format(folder, number)
  local chunk = assert(loadfile(path))
  local text = table.concat(vim.fn.readfile(path), '\\n')
  for name in text:gmatch('<Plug>%b()') do
    assert(vim.fn.maparg(name, 'n') ~= '', name .. ' is no mapping')
  end
  local opts = text:find('^return') and chunk().opts
  if not opts and text:find('^require%(.tideate.%)%.setup') then
    chunk()
  elseif opts then
    require('tideate').setup(opts)
  end
end
"""

MODEL = re.compile(r"\b[a-z][a-z-]+:[A-Za-z][\w.-]*\d[\w.-]*|\b[a-z-]+:MODEL\b")
RUN_LUA = """
vim.opt.runtimepath:prepend(vim.fn.getcwd())
vim.cmd.runtime('plugin/tideate.lua')
local given, started = {}, {}
local function plugin(name, make)
  package.preload[name] = function() return make end
end
plugin('lualine', { setup = function(options) given.lualine = options.sections.lualine_x end })
plugin('lualine.component', { extend = function() return { super = {} } end })
plugin('blink.cmp', { setup = function(options) given.blink = options.sources end })
plugin('cmp', {
  register_source = function(name, source) given[name] = source end,
  setup = { filetype = function(filetype, options) given[filetype] = options.sources[1].name end },
})
vim.fn.jobstart = function(command) table.insert(started, command) end
local function drawn(option, bar)
  return vim.api.nvim_eval_statusline(vim.o[option], { use_winbar = bar }).str
end
local function says(name, words)
  require('tideate')[name] = function() return words end
end
for number = 0, tonumber(arg[1]) - 1 do
  local path = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h') .. ('/%d.lua'):format(number)
  assert(loadfile(path))()
  given.picker = given.picker or require('tideate.config').get('picker') == 'telescope'
end
says('statusline', 'ask 1/2 first')
says('winbar', '%#Comment#ask 2/2')
assert(drawn('statusline', false):find('ask 1/2 first', 1, true), vim.o.statusline)
assert(drawn('winbar', true):find(' ask 2/2$'), vim.o.winbar)
local component = require('lualine.components.' .. given.lualine[1])
assert(component.update_status(component) == 'ask 1/2 first', 'another text in lualine')
for _, lhs in ipairs({ '<leader>wr', 'gz', 'gzz' }) do
  assert(vim.fn.maparg(lhs, 'n'):find('^<Plug>%(tideate%-refactor'), lhs .. ' is not mapped')
end
assert(vim.fn.maparg('gz', 'x'):find('operator', 1, true), 'gz is not mapped in visual mode')
assert(require(given.blink.providers.tideate.module).new, 'no source')
assert(given.blink.per_filetype.tideate_prompt[1] == 'tideate' and given.tideate_prompt == 'tideate')
assert(type(given.tideate.complete) == 'function', 'no source of nvim-cmp')
assert(given.picker, 'no picker')
for _, name in ipairs({ 'Completed', 'Failed' }) do
  local event = { pattern = 'TideateWorkflow' .. name, data = { name = 'ask' } }
  vim.api.nvim_exec_autocmds('User', event)
end
assert(vim.deep_equal(started, { { 'notify-send', 'tideate', 'ask' }, { 'notify-send', 'tideate', 'ask' } }))
"""


def test_the_help_is_current() -> None:
    assert help_text.HELP.read_text(encoding="utf-8") == help_text.render(), "run `make docs`"


def test_neovim_takes_the_help_and_no_link_leads_nowhere(tmp_path: Path) -> None:
    for path in HELP_FILES:
        shutil.copy(path, tmp_path)
    command = [find_nvim(), "--clean", "--headless", "-c", f"helptags {tmp_path}", "-c", "qall!"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=True)
    assert done.stderr.strip() == b""
    tags = {line.split("\t")[0] for line in (tmp_path / "tags").read_text(encoding="utf-8").splitlines()}
    for path in HELP_FILES:
        links = set(re.findall(r"\|([^|\s]+)\|", path.read_text(encoding="utf-8")))
        assert links - tags == set(), path.name


def test_the_help_by_tasks_fits_its_window() -> None:
    lines = (REPOSITORY / "doc" / "tideate-tasks.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(re.sub(r"[|`]", "", line)) > 79] == []  # these are concealed


def test_commands_of_the_help_by_tasks_are_workflows() -> None:
    text = (REPOSITORY / "doc" / "tideate-tasks.txt").read_text(encoding="utf-8")
    named = re.findall(r":(?:'<,'>)?Workflow ([a-z_]+)", text)
    builtin = {line.split()[1] for line in generated()["workflows"] if line.startswith(":Workflow ")}
    assert len(named) >= 6
    assert set(named) <= {*builtin, "ask", "review", "trust"}


def test_every_prompt_is_named_in_the_help() -> None:
    text = help_text.HELP.read_text(encoding="utf-8")
    missing = [path.stem for path in BUILTIN_PROMPTS.glob("*.md") if f"`{path.stem}`" not in text]
    assert missing == []


@cache
def rendered() -> dict[str, str]:
    """Return the pages of the reference with their generated parts."""
    return reference.pages()


@pytest.mark.parametrize("document", [path for path in DOCUMENTS if DOCS not in path.parents])
def test_links_of_a_document_beside_the_site_lead_to_files(document: Path) -> None:
    for name in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8")):
        assert (document.parent / name).exists(), name


def test_the_site_has_a_page_once_and_the_overview_links_it() -> None:
    targets = re.findall(r"^ +- .*: (\S+\.md)$", (REPOSITORY / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(targets) == len(set(targets))
    overview = reference.with_links((DOCS / "index.md").read_text(encoding="utf-8"), "index.md")
    assert [page for page in targets if page != "index.md" and f"]({page})" not in overview] == []
    assert "](docs/index.md)" in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_readme_and_the_changelog_are_short() -> None:
    for name, most in (("README.md", 150), ("CHANGELOG.md", 119)):
        assert len((REPOSITORY / name).read_text(encoding="utf-8").splitlines()) <= most, name


def test_the_readme_begins_with_two_commands() -> None:
    first = next(block for block in blocks() if block.path.name == "README.md")
    assert re.findall(r"^make \w+", first.text, re.MULTILINE) == ["make run", "make test"]


def test_every_block_is_of_a_kind_that_a_test_reads() -> None:
    kinds = {"", "json", "lua", "markdown", "python", "sh", "text", "toml", "yaml"}
    assert [block.where for block in blocks() if block.language not in kinds] == []


def test_the_documents_name_providers_and_their_variables() -> None:
    text = (DOCS / "start" / "models.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| `([\w-]+):` \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) >= 5
    for provider, variables in rows:
        module = find_spec(f"pydantic_ai.providers.{known_providers()[provider].module}")
        assert module is not None
        assert module.origin is not None, provider
        source = Path(module.origin).read_text(encoding="utf-8")
        assert [name for name in re.findall(r"`(\w+)`", variables) if name not in source] == [], provider


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: block.where)
def test_a_configuration_of_the_documents_is_one(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "tideate").mkdir()
    (tmp_path / "tideate" / "config.toml").write_text(block.text, encoding="utf-8")
    loaded = load_config(None)
    assert loaded.notices == []
    for adapter in re.findall(r'^adapter = "(.*)"', block.text, re.MULTILINE):
        provider = adapter.partition(":")[0]
        assert provider in known_providers() if ":" in adapter else f"[adapters.{adapter}]" in block.text


@pytest.mark.parametrize("block", blocks("markdown"), ids=lambda block: block.where)
def test_an_agent_of_the_documents_is_one(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "editor.md"
    path.write_text(block.text, encoding="utf-8")
    assert read_role(path).instructions


def test_each_json_block_is_read_by_a_test() -> None:
    assert [block.path.name for block in blocks("json")] == ["what-is-sent.md", "handoff.md"]


async def test_names_of_the_documents_stand_for_what_they_say(tmp_path: Path) -> None:
    mapping = the_block("docs/understand/what-is-sent.md", "json", "mappings")
    (tmp_path / ".tideate").mkdir()
    (tmp_path / "doc").mkdir()
    (tmp_path / ".tideate" / "context.json").write_text(mapping, encoding="utf-8")
    (tmp_path / "doc" / "api.md").write_text(
        "# Api\n\n## Errors\n\n404\n\n## Calls\n\nget\n", encoding="utf-8"
    )
    (tmp_path / "STYLE.md").write_text("Be brief.\n", encoding="utf-8")
    resolver = ContextResolver(tmp_path)
    items = await resolver.resolve_all(resolver.get_available_mentions())
    assert [item.content.strip() for item in items] == ["## Errors\n\n404", "Be brief.", "Ask Ada."]


def test_a_plan_of_the_documents_is_one() -> None:
    plan = PlanFile.model_validate_json(the_block("docs/workflows/handoff.md", "json", "planId"))
    assert [step.expected_outputs for step in plan.steps] == [["src/greet.py"], ["tests/test_greet.py"]]


def test_lua_of_the_documents_is_lua_and_its_options_are_known(tmp_path: Path) -> None:
    found = blocks("lua")
    assert len(found) >= 6
    for number, block in enumerate(found):
        table = block.text.startswith("{")
        (tmp_path / f"{number}.lua").write_text(f"return {block.text}" if table else block.text)
    (tmp_path / "read.lua").write_text(READ_LUA)
    command = [find_nvim(), "--clean", "--headless", "-l", str(tmp_path / "read.lua"), str(len(found))]
    done = subprocess.run(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.returncode == 0, (done.stderr.decode(), [block.where for block in found])


def test_lua_of_the_documents_does_what_it_says(tmp_path: Path) -> None:
    # the others are a plugin's entry, and what tests/editor/test_documented.py runs
    others = ("{", "local tideate", "-- any statusline")
    found = [block for block in blocks("lua") if not block.text.startswith(others)]
    assert len(found) >= 9
    for number, block in enumerate(found):
        (tmp_path / f"{number}.lua").write_text(block.text)
    (tmp_path / "run.lua").write_text(RUN_LUA)
    command = [find_nvim(), "--clean", "--headless", "-l", str(tmp_path / "run.lua"), str(len(found))]
    done = subprocess.run(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.returncode == 0, (done.stderr.decode(), [block.where for block in found])


def test_machines_of_the_documents_have_no_mistake() -> None:
    machines = [block.text for block in blocks("") if "\n* to " in block.text]
    assert machines
    for machine in machines:
        assert [d.message for d in parse(machine).diagnostics] == []
        assert format_text(machine) == machine


def test_the_drawing_of_a_task_is_current() -> None:
    drawn = subprocess.run(
        [sys.executable, "-m", "tideate_core.cli.main", "graph", "task", "--format", "svg"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert (DOCS / "pictures" / "task.svg").read_bytes() == drawn.stdout, "run `tideate graph task -o FILE`"


def test_every_picture_is_there_and_is_used() -> None:
    used = {
        (document.parent / target).resolve()
        for document in DOCUMENTS
        for target in PICTURE.findall(document.read_text(encoding="utf-8"))
    }
    assert used == set((DOCS / "pictures").glob("*.svg"))


def test_no_picture_shows_the_machine_that_made_it() -> None:
    own = re.compile(r"/(?:home|root|tmp|work|Users|var|opt)/|(?:localhost|127\.0\.0\.1):(?!11434\b)\d")
    for picture in (DOCS / "pictures").glob("*.svg"):
        shown = html.unescape(picture.read_text(encoding="utf-8"))
        assert own.search(shown) is None, (picture.name, "run `make screenshots`")
        assert "http" not in re.sub(r"http://(?:www\.w3\.org/|127\.0\.0\.1:11434/)", "", shown), picture.name


def test_commands_of_neovim_that_the_documents_name_are_there() -> None:
    listed = [line.split()[1] for line in generated()["subcommands"] if line.startswith(":Workflow ")]
    builtin = [line.split()[1] for line in generated()["workflows"] if line.startswith(":Workflow ")]
    own = {"guide", "careful", "walk", "shout"}
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        named = re.findall(r"`:(?:'<,'>|%|\[range\])?Workflow!? ([a-z_]+)", text)
        assert set(named) <= {*listed, *builtin, *own}, document.name


def said_somewhere() -> str:
    """Return the source texts, with string literals that Python joins joined."""
    python = "\n".join(
        path.read_text(encoding="utf-8") for path in (REPOSITORY / "tideate_core").rglob("*.py")
    )
    lua = "\n".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "lua").rglob("*.lua"))
    return re.sub(r'"\s*\n\s*f?"', "", python) + lua


def test_messages_of_the_troubleshooting_are_said_by_the_code() -> None:
    page = (DOCS / "help" / "troubleshooting.md").read_text(encoding="utf-8")
    messages = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    said = said_somewhere()
    assert len(messages) >= 15
    assert [part for message in messages for part in message.split("…") if part not in said] == []


def test_every_command_of_the_shell_is_one() -> None:
    lines = shell_lines()
    assert len(lines) > 60
    for where, line in lines:
        try:
            app.parse_args(
                [STDIN if word == "-" else word for word in arguments_of(line)],
                exit_on_error=False,
                print_error=False,
            )
        except CycloptsError as error:
            raise AssertionError(f"{where}: {line}: {error}") from error


def test_the_shell_reads_every_block_and_make_has_the_targets() -> None:
    targets = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    for block in blocks("sh"):
        done = subprocess.run(["sh", "-n"], input=block.text, text=True, capture_output=True, check=False)
        assert done.returncode == 0, (block.where, done.stderr)
        assert set(re.findall(r"^make ([\w-]+)", block.text, re.MULTILINE)) <= set(targets), block.where


def test_the_reference_has_every_key_and_command() -> None:
    pages = rendered()
    parts = generated()
    keys = [line.split()[0] for line in parts["config"] if "*tideate-config-" in line]
    assert [key for key in keys if f"| `{key}` |" not in pages["reference/configuration.md"]] == []
    assert [name for name in COMMANDS if f"tideate {name}" not in pages["reference/shell.md"]] == []
    assert len(keys) > 40
    assert "| `for_each`, `forEach` | " in pages["reference/workflow-schema.md"]
    listed = [line.split()[1] for line in parts["subcommands"] if line.startswith(":Workflow ")]
    page = pages["reference/workflow-command.md"]
    assert [name for name in listed if f"| `:Workflow {name}" not in page] == []
    for part in reference.KEYS:
        named = {key for names, _ in reference.keys_of(parts[part]) for key in names}
        assert [key for key in named if f"`{key}`{{.key}}" not in pages["reference/keys.md"]] == [], part
    assert [path for path, text in pages.items() if "<!-- generated" in text] == []


def test_the_reference_has_every_public_name_of_python() -> None:
    page = rendered()["reference/python.md"]
    names = [name for names in SURFACE["python"].values() for name in names]
    assert [name for name in names if f"### {name}\n" not in page] == []


def test_the_reference_has_every_autocommand() -> None:
    page = (DOCS / "reference" / "events.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(Tideate\w+)` \|", page, re.MULTILINE))
    assert named == set(filter(None, SURFACE["lua"]["autocmds"].values()))


def test_the_reference_has_every_function_and_option_of_lua() -> None:
    page = (DOCS / "reference" / "lua.md").read_text(encoding="utf-8")
    functions = [name for name, kind in SURFACE["lua"]["functions"].items() if kind.startswith("function")]
    assert [name for name in functions if f"`{name}(" not in page] == []


def test_the_reference_has_every_highlight_group_with_its_link() -> None:
    source = (REPOSITORY / "lua" / "tideate" / "ui" / "highlights.lua").read_text(encoding="utf-8")
    page = rendered()["reference/highlights.md"]
    links = re.findall(r"(Tideate\w+) = '(\w+)'", source)
    assert links
    assert re.findall(r"^\| `(Tideate\w+)` \| `(\w+)` \|", page, re.MULTILINE) == sorted(links)


def test_pictures_of_the_site_follow_its_own_switch() -> None:
    for document in DOCS.rglob("*.md"):
        text = document.read_text(encoding="utf-8")
        shown = reference.with_pictures(text)
        assert "<picture>" not in shown, document.name
        assert shown.count('class="only-dark"') == text.count("<picture>")


async def test_the_worked_adapter_answers() -> None:
    names: dict[str, Any] = {}
    exec(the_block("docs/contribute/adapter.md", "python", "class DictionaryAdapter"), names)
    adapter: Adapter = names["DictionaryAdapter"]("mine", {"hello": "good day"})
    pieces: list[str] = []
    assert (await adapter.ask(Prompt("hello"), on_token=pieces.append)).text == "good day"
    assert pieces == ["good day"]
    with pytest.raises(AdapterUnavailable):
        await adapter.ask(Prompt("unknown"))
    assert await adapter.check() == "mine: 1 answers"


def test_nothing_asks_a_package_index_for_tideate() -> None:
    sources = [path for name in ("tideate_core", "lua", "doc") for path in (REPOSITORY / name).rglob("*.*")]
    texts = [path for path in sources if path.suffix in {".py", ".lua", ".txt"}] + DOCUMENTS
    named = [path.name for path in texts if re.search(r"tideate\[|pip install tideate", path.read_text())]
    assert named == []


def test_models_that_the_documents_name_are_listed() -> None:
    """`tideate models` lists the library's models of a provider."""
    known = known_models()
    texts = [path.read_text(encoding="utf-8") for path in (*DOCUMENTS, *HELP_FILES)]
    named = {tuple(one.split(":")) for text in texts for one in MODEL.findall(text)}
    named = {(provider, model) for provider, model in named if provider in known_providers()}
    assert named
    wrong = [
        (provider, model) for provider, model in named if model not in (*known.get(provider, ()), "MODEL")
    ]
    assert wrong == []
