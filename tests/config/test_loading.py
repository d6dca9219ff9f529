"""Three configuration sources with one schema, and limits of a project's file."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.project import use_home
from tests.harness.state import trust_file
from tideate_core.config import Config, load_config, waiting_keys
from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

FAKE = '[adapters.fake]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def own(home: Path) -> Path:
    path = home / "config/tideate/config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(home: Path) -> Path:
    path = home / "project/.tideate/config.toml"
    path.parent.mkdir(parents=True)
    return path


def root_of(project: Path) -> Path:
    return project.parent.parent


def test_without_any_source_everything_has_a_default(home: Path) -> None:
    loaded = load_config(home / "project")
    assert loaded.config == Config()
    assert loaded.config.adapter == "local"
    assert loaded.config.limits.attempts == 3
    assert (loaded.sources, loaded.notices) == ([], [])


def test_later_sources_win_key_by_key(own: Path, project: Path) -> None:
    own.write_text('[ui]\noutput = "tab"\nborder = "single"\n[limits]\nattempts = 5\n')
    project.write_text('[ui]\noutput = "split"\n')
    loaded = load_config(root_of(project), {"ui": {"notify": False}})
    ui = loaded.config.ui
    assert (ui.output, ui.border, ui.notify) == ("split", "single", False)
    assert loaded.config.limits.attempts == 5
    assert loaded.sources == [own, project]


def test_a_workflow_has_its_own_adapter_or_the_default(own: Path) -> None:
    own.write_text(f'adapter = "fake"\n[workflows.refactor]\nadapter = "openai:gpt-5"\n{FAKE}')
    config = load_config(None).config
    assert config.adapter_for("refactor") == "openai:gpt-5"
    assert config.adapter_for("ask") == "fake"


def test_an_adapter_is_replaced_whole(own: Path) -> None:
    own.write_text(FAKE + 'api_key_env = "SECRET"\n')
    other = {"base_url": "http://127.0.0.1:2/v1", "model": "n"}
    config = load_config(None, {"adapters": {"fake": other}}).config
    assert config.adapters["fake"].api_key_env is None  # the key of one server is not sent to another


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('adaptor = "x"\n', "unknown key 'adaptor'; did you mean 'adapter'"),
        ('[ui]\noutptu = "tab"\n', "unknown key 'ui.outptu'; did you mean 'output'"),
        (FAKE + 'api_key_enf = "X"\n', "unknown key 'adapters.fake.api_key_enf'; did you mean 'api_key_env'"),
        ("[workflows.ask]\nconfirmed = true\n", "unknown key 'workflows.ask.confirmed'.*'confirm'"),
        ("[workflows.ask]\nconfirm = true\n", "workflows.ask.confirm: input should be a valid list"),
        ("[limits]\nmax_moves = 0\n", "limits.max_moves: input should be greater than or equal to 1"),
        ("[limits]\nmax_visits = 0\n", "limits.max_visits: input should be greater than or equal to 1"),
        ('[ui]\noutput = "popup"\n', "ui.output: input should be 'float', 'split', 'vsplit' or 'tab'"),
        ("[limits]\nattempts = 0\n", "limits.attempts: input should be greater than or equal to 1"),
        (
            '[adapters.fake]\nmodel = "m"\n',
            "adapters.fake: give the base_url .* PROVIDER:MODEL; 'm' is neither",
        ),
        (FAKE + 'thinking = "much"\n', "adapters.fake.thinking"),
        (FAKE + 'headers = {"a b" = "c"}\n', "adapters.fake.headers: 'a b' is not the name of a header"),
        (FAKE + 'headers = {X-Key = "sk\\nsk"}\n', "the value of X-Key has characters that no header"),
        ("[limits]\ncost_usd = 0\n", "limits.cost_usd: input should be greater than 0"),
        ('[adapters.fake]\nbase_url = "x"\nmodel = "m"\n', "adapters.fake.base_url"),
        (FAKE + 'api_key_env = "A"\napi_key_command = ["b"]\n', "give api_key_env or api_key_command"),
        (FAKE.replace("fake", "local"), "'local' is the bundled model"),
        (FAKE.replace("adapters.fake", 'adapters."a:b"'), "'a:b' has a colon"),
        ('[verify]\ntests = "make test"\n', "verify.tests: give a list of program and arguments"),
        ("[verify]\nlint = []\n", "verify.lint: give a list of program and arguments"),
        ("[verify]\nlint = [1]\n", "verify.lint: give a list of program and arguments"),
        ('[verify]\ntest = ["a"]\n', "unknown key 'verify.test'; did you mean 'tests'"),
        ("[verify]\ntimeout = 0\n", "verify.timeout: input should be greater than 0"),
        ("adapter = \n", "not valid TOML.*line 1"),
    ],
)
def test_a_wrong_file_is_named_with_its_key_and_what_to_do(own: Path, text: str, said: str) -> None:
    own.write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        load_config(None)
    assert str(own) in str(caught.value)


def test_a_file_that_is_not_text_is_named(own: Path) -> None:
    own.write_bytes(b"adapter = \xff\n")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 10"):
        load_config(None)


def test_a_directory_in_the_place_of_a_file_is_named(own: Path) -> None:
    own.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(None)


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ({"ui": {"boarder": "x"}}, "setup.*unknown key 'ui.boarder'; did you mean 'border'"),
        ({"ui": "float"}, r"setup\(\): ui:"),
        ({"adapters": ["fake"]}, r"setup\(\): adapters:"),
        ({"agents": {"claude": {"network": "off"}}}, r"setup\(\): agents: set it in .*config\.toml"),
    ],
)
def test_a_wrong_setup_is_named(setup: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_config(None, setup)


AGENT = '[agents.claude]\nwritable = ["~/notes"]\nnetwork = "off"\n'


def test_agents_are_configured_by_the_person_only(own: Path, project: Path) -> None:
    own.write_text(AGENT)
    project.write_text('[agents.claude]\nwritable = ["/"]\nnetwork = "on"\n')
    trust_file(project)
    loaded = load_config(root_of(project))
    claude = loaded.config.agents["claude"]
    assert (claude.writable, claude.network) == (["~/notes"], "off")
    assert "ignored agents: only your own configuration can set it" in loaded.notices[0]


@pytest.mark.parametrize("path", ["notes", "../x", "~/../x", "/a\n", ""])
def test_paths_of_agents_are_complete(own: Path, path: str) -> None:
    own.write_text(f"[agents.claude]\nhidden = [{json.dumps(path)}]\n")
    with pytest.raises(ConfigError, match=r'agents\.claude\.hidden\.0: give a path from "/" or "~/"'):
        load_config(None)


# trust

RISKY = f'adapter = "fake"\n[workflows.ask]\nadapter = "fake"\nrequire_confirmation = true\n{FAKE}'


def test_an_untrusted_project_does_not_decide_where_code_is_sent(project: Path) -> None:
    project.write_text(RISKY + '[ui]\noutput = "tab"\n')
    loaded = load_config(root_of(project))
    assert loaded.config.adapter_for("ask") == "local"
    assert loaded.config.adapters == {}
    assert loaded.config.workflows["ask"].require_confirmation is True
    assert loaded.config.ui.output == "tab"
    (notice,) = loaded.notices
    assert str(project) in notice
    assert "ignored adapter, workflows.ask.adapter, adapters: " in notice
    assert "tideate trust" in notice


@pytest.mark.parametrize(("wanted", "holds"), [(2, 2.0), (9, 5.0)])
def test_an_untrusted_project_may_lower_the_limit_of_costs_only(
    own: Path, project: Path, wanted: float, holds: float
) -> None:
    own.write_text("[limits]\ncost_usd = 5\n")
    project.write_text(f"[limits]\nattempts = 2\ncost_usd = {wanted}\n")
    loaded = load_config(root_of(project))
    assert (loaded.config.limits.cost_usd, loaded.config.limits.attempts) == (holds, 2)
    assert ["limits.cost_usd" in notice for notice in loaded.notices] == [True] * (wanted > 5)


def test_a_providers_model_can_have_settings(own: Path) -> None:
    own.write_text(
        '[adapters.deep]\nmodel = "anthropic:claude-sonnet-4-5"\nthinking = "high"\ntemperature = 0\n'
        'headers = {X-Team = "blue"}\nextra_body = {tags = ["a"]}\ncache = false\n'
    )
    deep = load_config(None).config.adapters["deep"]
    assert (deep.base_url, deep.thinking, deep.temperature, deep.cache) == (None, "high", 0.0, False)
    assert (deep.headers, deep.extra_body) == ({"X-Team": "blue"}, {"tags": ["a"]})


def test_a_trusted_project_is_followed(project: Path) -> None:
    project.write_text(RISKY)
    trust_file(project)
    loaded = load_config(root_of(project))
    assert loaded.config.adapter_for("ask") == "fake"
    assert loaded.notices == []


def test_a_change_after_trust_is_left_out_again(project: Path) -> None:
    project.write_text(RISKY)
    trust_file(project)
    project.write_text(RISKY.replace(":1/", ":6666/"))
    assert load_config(root_of(project)).config.adapters == {}


@pytest.mark.slow
def test_reading_the_configuration_imports_no_model_library() -> None:
    program = (
        "import sys, tideate_core.config as c; c.load_config(None)\n"
        "print(sorted({'pydantic_ai', 'openai', 'httpx', 'httpx2', 'pynvim'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_of_a_machine_is_bounded_by_default() -> None:
    limits = Config().limits
    assert (limits.max_moves, limits.max_visits) == (100, 10)


TOOLS = '[workflows.PLANNER]\ntools = ["look"]\n[workflows.PLANNER.states.execution]\ntools = ["edits"]\n'


def test_tools_of_states_come_of_the_person_or_of_a_trusted_project(own: Path, project: Path) -> None:
    own.write_text(TOOLS)
    project.write_text(TOOLS.replace("look", "shell/*").replace("edits", "shell/run"))
    loaded = load_config(root_of(project))
    planner = loaded.config.workflows["PLANNER"]
    assert (planner.tools, planner.states["execution"].tools) == (["look"], ["edits"])
    assert "ignored workflows.PLANNER.tools, workflows.PLANNER.states: " in loaded.notices[0]
    trust_file(project)
    trusted = load_config(root_of(project)).config.workflows["PLANNER"]
    assert (trusted.tools, trusted.states["execution"].tools) == (["shell/*"], ["shell/run"])


ASK_FIRST = '[workflows.PLANNER]\nconfirm = ["execution", "create_project"]\n'
LESS = '[workflows.PLANNER]\nconfirm = ["refine_tasks", "execution"]\n'


def test_an_untrusted_project_adds_confirmations_and_takes_none_away(own: Path, project: Path) -> None:
    own.write_text(ASK_FIRST)
    project.write_text(LESS)
    loaded = load_config(root_of(project))
    assert loaded.config.workflows["PLANNER"].confirm == ["execution", "create_project", "refine_tasks"]
    assert loaded.notices == []
    project.write_text("[workflows.PLANNER]\nconfirm = []\n")
    found = load_config(root_of(project)).config.workflows["PLANNER"].confirm
    assert found == ["execution", "create_project"]
    own.unlink()
    project.write_text(LESS)
    found = load_config(root_of(project)).config.workflows["PLANNER"].confirm
    assert found == ["refine_tasks", "execution"]


def test_the_confirmations_of_a_trusted_project_and_of_setup_replace_those_below(
    own: Path, project: Path
) -> None:
    own.write_text(ASK_FIRST)
    project.write_text(LESS)
    trust_file(project)
    assert load_config(root_of(project)).config.workflows["PLANNER"].confirm == ["refine_tasks", "execution"]
    setup: dict[str, object] = {"workflows": {"PLANNER": {"confirm": []}}}
    assert load_config(root_of(project), setup).config.workflows["PLANNER"].confirm == []


def test_an_untrusted_project_neither_names_a_command_nor_turns_a_check_off(own: Path, project: Path) -> None:
    own.write_text('[verify]\ntests = ["make", "test"]\nlint = "off"\n')
    project.write_text('[verify]\ntests = ["sh", "-c", "anything"]\nlint = ["x"]\nbuild = "off"\n')
    loaded = load_config(project.parent.parent)
    verify = loaded.config.verify
    assert (verify.tests, verify.lint, verify.build) == (["make", "test"], "off", None)
    assert "ignored verify: this file is not trusted" in loaded.notices[0]
    trust_file(project)
    trusted = load_config(project.parent.parent).config.verify
    assert (trusted.tests, trusted.lint, trusted.build) == (["sh", "-c", "anything"], ["x"], "off")
    assert (verify.own, trusted.own) == (frozenset({"tests", "lint"}), frozenset())
    setup = {"verify": {"lint": ["y"]}}
    assert load_config(project.parent.parent, setup).config.verify.own == {"lint"}


def test_who_sends_no_rules_is_not_overruled_by_an_untrusted_project(own: Path, project: Path) -> None:
    own.write_text("rules = false\n")
    project.write_text('rules = true\nrules_files = ["CONTEXT.md", "doc/**/*.md"]\n')
    loaded = load_config(root_of(project))
    assert (loaded.config.rules, loaded.config.rules_files) == (False, ["CONTEXT.md", "doc/**/*.md"])
    assert "ignored rules:" in "".join(loaded.notices)
    trust_file(project)
    assert load_config(root_of(project)).config.rules is True


def test_a_project_may_have_its_rules_left_out(project: Path) -> None:
    project.write_text("rules = false\n")
    loaded = load_config(root_of(project))
    assert (loaded.config.rules, loaded.notices) == (False, [])


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x.md", "a/../../x", "~/x.md", "a\nb", "x" * 301, 7])
def test_rules_files_are_within_the_project(path: Any) -> None:
    with pytest.raises(ConfigError, match="a name, a path or a pattern within the project"):
        load_config(None, {"rules_files": [path]})


def test_a_file_that_is_nested_too_deeply_is_named(project: Path) -> None:
    text = f"rules_files = {'[' * 5000}{']' * 5000}"
    project.write_text(text)
    for read in (lambda: load_config(root_of(project)), lambda: waiting_keys(text.encode())):
        with pytest.raises(ConfigError, match="nested too deeply"):
            read()


def test_of_very_many_keys_that_wait_some_are_named(project: Path) -> None:
    text = "".join(f'[workflows.w{number}]\nadapter = "a"\n' for number in range(200))
    project.write_text(text)
    notice = load_config(root_of(project)).notices[0]
    assert "workflows.w0.adapter" in notice
    assert "and 150 more" in notice
