"""Prompt files: lookup, overrides, trust, rendering, errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.state import trust_file
from tideate_core.errors import ConfigError
from tideate_core.project import Trust
from tideate_core.workflows import PromptLibrary

if TYPE_CHECKING:
    from pathlib import Path


def write(directory: Path, text: str, name: str = "ask") -> PromptLibrary:
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.md").write_text(text, encoding="utf-8")
    return PromptLibrary([directory])


def test_the_first_directory_that_has_the_prompt_wins(tmp_path: Path) -> None:
    write(tmp_path / "person", "Person.\n---\n{{ prompt }}?")
    write(tmp_path / "project", "Project.\n---\n{{ prompt }}!")
    library = PromptLibrary([tmp_path / "project", tmp_path / "person"])
    prompt = library.render("ask", prompt="why")
    assert (prompt.system, prompt.user) == ("Project.", "why!")
    assert PromptLibrary([tmp_path / "none", tmp_path / "person"]).render("ask", prompt="why").user == "why?"


def test_the_built_in_prompt_shows_the_text_byte_for_byte() -> None:
    text = "def f():\n\treturn '{{ x }}' # <&>\n\n"
    variables: dict[str, Any] = {"path": "a.py", "language": "python", "text": text, "fence": "```"}
    variables |= {"first": 3, "last": 5}
    assert text in PromptLibrary().render("ask", prompt="why", **variables).user


def test_a_name_that_the_template_does_not_get_is_an_error_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ask\.md: 'nowhere' is undefined"):
        write(tmp_path, "S\n---\n{{ nowhere }}").render("ask")


def test_a_syntax_error_names_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ask\.md:4: "):
        write(tmp_path, "S\n---\nfine\n{% if %}").render("ask")


def test_a_template_cannot_reach_the_interpreter(tmp_path: Path) -> None:
    library = write(tmp_path, "S\n---\n{{ prompt.__class__.__mro__ }}")
    with pytest.raises(ConfigError, match="unsafe"):
        library.render("ask", prompt="x")


def test_a_file_without_a_separator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no line `---`"):
        write(tmp_path, "only this").render("ask")


def test_an_unknown_prompt_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no prompt 'nothing'"):
        PromptLibrary().render("nothing")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a prompt of its own, and a person who trusts nothing yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "project"
    (root / ".tideate").mkdir(parents=True)
    write(root / ".tideate" / "prompts", "Project.\n---\n{{ prompt }}!")
    write(tmp_path / "person", "Person.\n---\n{{ prompt }}?")
    return root


def rendered_question(project: Path, notices: list[str]) -> str:
    library = PromptLibrary([project.parent / "person"], project=project)
    return library.render("ask", notice=notices.append, prompt="why").user


def test_a_projects_prompt_is_not_used_before_it_is_trusted(project: Path) -> None:
    notices: list[str] = []
    assert rendered_question(project, notices) == "why?"
    (notice,) = notices
    assert "ask.md was not used: its content is not trusted" in notice
    trust_file(project / ".tideate" / "prompts" / "ask.md")
    assert rendered_question(project, notices) == "why!"
    assert len(notices) == 1


def test_without_anybody_to_be_told_it_is_not_used_either(project: Path) -> None:
    library = PromptLibrary([project.parent / "person"], project=project)
    assert library.render("ask", prompt="why").user == "why?"


def test_a_changed_prompt_is_not_trusted_any_more(project: Path) -> None:
    trust_file(project / ".tideate" / "prompts" / "ask.md")
    write(project / ".tideate" / "prompts", "Changed.\n---\n{{ prompt }}#")
    assert rendered_question(project, []) == "why?"


@pytest.mark.parametrize("link", ["file", "directory"])
def test_a_link_out_of_the_project_is_never_used(project: Path, link: str) -> None:
    own, outside = project / ".tideate" / "prompts", project.parent / "outside"
    own.rename(outside)
    if link == "directory":
        own.symlink_to(outside)
    else:
        own.mkdir()
        (own / "ask.md").symlink_to(outside / "ask.md")
    Trust(project).trust(".tideate/prompts/ask.md", (outside / "ask.md").read_bytes())
    notices: list[str] = []
    assert rendered_question(project, notices) == "why?"
    assert "it is a link, or there is a link on the way to it" in notices[0]


def test_what_is_no_file_is_passed_over(project: Path) -> None:
    prompt = project / ".tideate" / "prompts" / "ask.md"
    prompt.unlink()
    os.mkfifo(prompt)
    assert rendered_question(project, []) == "why?"


def test_a_file_too_large_for_a_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="larger than"):
        write(tmp_path, "S\n---\n" + "x" * 100_000).render("ask")
