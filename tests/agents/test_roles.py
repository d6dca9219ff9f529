"""Roles are merged from their files; keys of an untrusted project file are ignored with a notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.project import use_home, write_files
from tests.harness.state import trust_file
from tideate_core.agents import BUILTIN_ROLES, Role, Roles
from tideate_core.errors import ConfigError, InvalidDefinition, InvalidDefinitionFile, UnknownAgent
from tideate_core.project import config_dir, files_to_trust, project_state

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["auditor", "corrector", "documenter", "executor", "planner"]


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(tmp_path, monkeypatch)


def of_project(root: Path, text: str, name: str = "planner") -> Path:
    write_files(root, {f".tideate/agents/{name}.md": text})
    return root / ".tideate" / "agents" / f"{name}.md"


def of_person(text: str, name: str = "planner") -> None:
    write_files(config_dir(), {f"agents/{name}.md": text})


def planner(root: Path | None) -> Role:
    return Roles(root).get("planner")


def test_the_built_in_roles_are_five_with_words_and_budgets() -> None:
    assert sorted(path.stem for path in BUILTIN_ROLES.glob("*.md")) == ["assistant", *NAMES]
    for name in NAMES:
        role = Roles(None).get(name)
        assert role.name == name
        assert "no authority" in role.instructions
        assert "answers with" in role.description
        assert role.tokens and role.timeout
        assert (role.adapter, role.tools, role.notices) == (None, (), ())


def test_a_role_that_there_is_not_names_the_nearest() -> None:
    with pytest.raises(UnknownAgent, match="no agent is called 'planer'; did you mean 'planner'"):
        Roles(None).get("planer")
    with pytest.raises(UnknownAgent):
        Roles(None).get("../builtin/planner")


def test_agents_of_the_person_and_the_project_are_found_by_their_files(root: Path) -> None:
    of_person("You check spelling.\n", "speller")
    of_project(root, "---\ndescription: Cooks\ntokens: 900\n---\nYou cook.\n", "cook")
    of_project(root, "no name of an agent", "not an agent")
    assert Roles(root).names() == {"assistant", "speller", "cook", *NAMES}
    assert Roles(None).names() == {"assistant", "speller", *NAMES}
    cook = Roles(root).get("cook")
    assert (cook.description, cook.tokens, cook.instructions, cook.notices) == ("Cooks", 900, "You cook.", ())
    assert Roles(root).get("speller").instructions == "You check spelling."


def test_a_projects_agent_uses_tools_agents_and_an_adapter_once_it_is_trusted(root: Path) -> None:
    text = "---\nadapter: far\nagents: [planner]\ntools: [fs]\noutput_schema: {type: array}\n---\nYou cook.\n"
    path = of_project(root, text, "cook")
    cook = Roles(root).get("cook")
    assert (cook.adapter, cook.agents, cook.tools) == (None, (), ())
    assert cook.output_schema == {"type": "array"}
    assert "left out adapter, agents, tools" in cook.notices[0]
    trust_file(path)
    trusted = Roles(root).get("cook")
    assert (trusted.adapter, trusted.agents, trusted.tools) == ("far", ("planner",), ("fs",))


def test_an_agent_without_instructions_is_refused(root: Path) -> None:
    of_project(root, "---\ndescription: Cooks\n---\n", "cook")
    with pytest.raises(InvalidDefinition, match="'cook' has no instructions; write them below the front"):
        Roles(root).get("cook")


def test_agents_behind_a_link_are_not_listed(root: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"elsewhere/cook.md": "You cook."})
    (root / ".tideate").mkdir()
    (root / ".tideate/agents").symlink_to(tmp_path / "elsewhere")
    assert "cook" not in Roles(root).names()


def test_the_project_comes_before_the_person_before_the_built_in(root: Path) -> None:
    of_person("---\nadapter: mine\ntokens: 9000\n---\nThe person's words.\n")
    assert planner(root).instructions == "The person's words."
    path = of_project(root, "The project's words.\n")
    role = planner(root)
    assert (role.instructions, role.path) == ("The project's words.", path)
    # what a file does not say stays as it was
    assert (role.adapter, role.tokens) == ("mine", 9000)
    assert role.timeout == planner(None).timeout
    assert planner(None).instructions == "The person's words."


def test_a_file_with_keys_alone_leaves_the_words(root: Path) -> None:
    of_person("---\nadapter: mine\n---\n")
    role = planner(root)
    assert role.adapter == "mine"
    assert "rollback strategy" in role.instructions
    assert role.path == BUILTIN_ROLES / "planner.md"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nadaptor: x\n---\n", r":2:1: unknown key 'adaptor'; did you mean 'adapter'\?"),
        ("---\ntokens: many\n---\n", r":2:9: `tokens` is a number of tokens above 0"),
        ("---\ntokens: true\n---\n", r":2:9: `tokens` is a number"),
        ("---\ntimeout: 0\n---\n", r":2:10: `timeout` is a number of milliseconds above 0"),
        ("---\ndescription: x\ntools: read\n---\n", r":3:8: `tools` is a list of names"),
        ("---\nadapter: [a]\n---\n", r":2:10: `adapter` is the name"),
        ("---\noutput_schema: [a]\n---\n", r":2:16: `output_schema` is a JSON Schema"),
        ("---\noutput_schema: {type: lorry}\n---\n", r":2:23: this is not a JSON Schema"),
        ("---\noutput_schema: {type: string, pattern: '(?=a)'}\n---\n", r":2:\d+: "),
        ("---\nagents: cook\n---\n", r":2:9: `agents` is a list of names of agents"),
        ("---\nagent: [cook]\n---\n", r":2:1: unknown key 'agent'; did you mean 'agents'\?"),
        ("---\nadapter: a\nadapter: b\n---\n", r":3:1: the key 'adapter' is given twice"),
        ("---\nadapter: 'a\n---\n", r"planner.md:\d+:\d+: "),
        ("---\n- a\n---\n", r":2:1: the front matter is not a mapping"),
        ("---\nadapter: a\n", r":1:1: the front matter does not end"),
        ("\ufeff---\r\nadaptor: x\r\n---\r\n", r":2:1: unknown key 'adaptor'"),
    ],
)
def test_a_mistake_names_its_place(root: Path, text: str, said: str) -> None:
    of_person(text)
    with pytest.raises(InvalidDefinitionFile, match=said):
        planner(root)


def test_all_mistakes_are_told_at_once(root: Path) -> None:
    of_project(root, "---\nadaptor: x\ntokens: 0\n---\n")
    with pytest.raises(InvalidDefinitionFile) as told:
        planner(root)
    assert len(str(told.value).split("\n")) == len(told.value.mistakes) == 2


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * 70_000], ids=["no UTF-8", "too large"])
def test_what_is_no_role_is_told(root: Path, content: bytes) -> None:
    of_person("x")
    (config_dir() / "agents/planner.md").write_bytes(content)
    with pytest.raises(InvalidDefinition, match=r"planner\.md(: not UTF-8|.*larger than 64 KiB)"):
        planner(root)


def test_a_projects_file_that_is_too_large_is_not_used_and_named(root: Path) -> None:
    of_project(root, "x").write_bytes(b"x" * 70_000)
    (notice,) = planner(root).notices
    assert "planner.md was not used: it is larger than 64 KiB" in notice


@pytest.mark.parametrize("text", ["---\n---\nWords.\n", "---\n# nothing\n\n---\nWords.\n", "Words.\n"])
def test_front_matter_may_be_empty_or_missing(root: Path, text: str) -> None:
    of_project(root, text)
    assert planner(root).instructions == "Words."


@pytest.mark.parametrize(
    ("key", "value"),
    [("adapter", "elsewhere"), ("tools", "[shell]"), ("tokens", "999000000"), ("timeout", "999000000")],
)
def test_an_untrusted_projects_key_is_left_out_with_a_notice(root: Path, key: str, value: str) -> None:
    before = planner(None)
    path = of_project(root, f"---\n{key}: {value}\n---\nWords.\n")
    role = planner(root)
    assert role.instructions == "Words."
    assert getattr(role, key) == getattr(before, key)
    (notice,) = role.notices
    assert str(path) in notice
    assert f"left out {key}: " in notice
    assert "tideate trust" in notice


def test_an_untrusted_project_may_make_a_budget_smaller(root: Path) -> None:
    of_project(root, "---\ntokens: 100\ntimeout: 200\n---\n")
    role = planner(root)
    assert (role.tokens, role.timeout, role.notices) == (100, 200, ())


def test_trust_counts_for_exactly_this_content(root: Path) -> None:
    path = of_project(root, "---\nadapter: elsewhere\ntools: [a, b]\n---\n")
    assert list(files_to_trust(root)) == [".tideate/agents/planner.md"]
    trust_file(path)
    role = planner(root)
    assert (role.adapter, role.tools, role.notices) == ("elsewhere", ("a", "b"), ())
    path.write_text("---\nadapter: another\n---\n")
    assert planner(root).adapter is None


def test_words_of_a_task_count_untrusted_and_can_be_trusted(root: Path) -> None:
    of_project(root, "Words.\n")
    assert (planner(root).instructions, planner(root).notices) == ("Words.", ())
    assert list(files_to_trust(root)) == [".tideate/agents/planner.md"]


def test_a_link_out_of_the_project_is_not_used(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("---\nadapter: x\n---\nOther words.\n")
    (root / ".tideate" / "agents").mkdir(parents=True)
    link = root / ".tideate" / "agents" / "planner.md"
    link.symlink_to(tmp_path / "other.md")
    role = planner(root)
    assert "Other" not in role.instructions
    assert "it is a link, or there is a link on the way to it" in role.notices[0]


def test_what_is_trusted_and_cannot_be_read_is_an_error(root: Path, tmp_path: Path) -> None:
    of_project(root, "---\nadapter: x\n---\n")
    trust_file(root / ".tideate/agents/planner.md")
    (project_state(root) / "trust.json").write_text("no JSON")
    with pytest.raises(ConfigError, match="cannot be read"):
        planner(root)


CALL_ME = "---\ndescription: call me\noutput_schema: {type: array}\n---\nEvil.\n"


@pytest.mark.parametrize("keys", ["", "tools: [fs]\n", "agents: [planner]\n"])
def test_an_untrusted_project_changes_no_words_of_an_agent_that_is_not_its_own(root: Path, keys: str) -> None:
    of_person(f"---\ndescription: mine\n{keys}---\nThe person's words.\n", "checker")
    path = of_project(root, CALL_ME, "checker")
    checker = Roles(root).get("checker")
    assert (checker.instructions, checker.description, checker.output_schema) == (
        "The person's words.",
        "mine",
        None,
    )
    assert "left out description, output_schema, instructions" in checker.notices[0]
    trust_file(path)
    assert Roles(root).get("checker").instructions == "Evil."


def test_an_untrusted_project_does_not_change_the_assistant(root: Path) -> None:
    path = of_project(root, "Evil words.\n", "assistant")
    assistant = Roles(root).get("assistant")
    assert assistant.instructions.startswith("You do one step of a larger workflow.")
    assert "left out instructions" in assistant.notices[0]
    assert ".tideate/agents/assistant.md" in files_to_trust(root)
    trust_file(path)
    assert Roles(root).get("assistant").instructions == "Evil words."


def test_a_role_with_tools_keeps_its_words_too(root: Path) -> None:
    of_person("---\ntools: [fs]\n---\n")
    of_project(root, "The project's words.\n")
    assert "left out instructions" in planner(root).notices[0]
