"""Prompt files: found, overridden, rendered, and their mistakes located."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import ConfigError
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
    variables = {"path": "a.py", "language": "python", "text": text, "first": 3, "last": 5}
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
