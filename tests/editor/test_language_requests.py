"""Answers of the host about `.workflow` texts, without an editor."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.editor import language
from tideate_core.errors import InvalidInput, InvalidWorkflowFile, UnknownWorkflow
from tideate_core.workflows import Catalog, WorkflowRegistry

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "* to a:\n  Go.\n\n: é\na to b\nb to a: Again.\nb to *\n"


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Catalog(WorkflowRegistry(), tmp_path)


async def draw(catalog: Catalog, **params: Any) -> dict[str, Any]:
    projects: Any = SimpleNamespace(catalog=lambda _folder: catalog)
    return await language.graph(projects, params)


async def test_a_good_text_has_no_diagnostics() -> None:
    assert await language.check({"text": TEXT}) == {"diagnostics": []}


async def test_columns_count_characters_and_the_end_is_excluded() -> None:
    answer = await language.check({"text": TEXT + "# é \x01\n"})
    (found,) = answer["diagnostics"]
    assert (found["line"], found["column"], found["end_column"]) == (8, 5, 6)
    assert found["severity"] == "error"


async def test_the_outline_has_every_mention_and_where_a_state_gets_its_guidance() -> None:
    answer = await language.outline({"text": TEXT})
    a, b = answer["states"]
    assert (a["name"], a["line"], a["column"], a["guidance"]) == ("a", 1, 6, "Go.")
    assert a["references"] == [
        {"line": 1, "column": 6, "kind": "target"},
        {"line": 5, "column": 1, "kind": "source"},
        {"line": 6, "column": 6, "kind": "target"},
    ]
    assert (b["name"], b["line"], b["column"], b["guidance"]) == ("b", 5, 6, "")
    assert [(t["source"], t["target"], t["when"]) for t in answer["transitions"]] == [
        ("*", "a", ""),
        ("a", "b", "é"),
        ("b", "a", ""),
        ("b", "*", ""),
    ]


async def test_a_half_written_text_has_an_outline() -> None:
    answer = await language.outline({"text": "* to a\na t"})
    assert "a" in [state["name"] for state in answer["states"]]


async def test_a_text_with_mistakes_is_not_formatted() -> None:
    with pytest.raises(InvalidWorkflowFile):
        await language.format_machine({"text": "what is this\n"})
    assert (await language.format_machine({"text": "*  to a\na to  *"}))["text"] == "* to a\na to *\n"


async def test_a_drawing_of_a_text_counts_its_mistakes(catalog: Catalog) -> None:
    answer = await draw(catalog, text=TEXT + "what is this\n", name="mine", width=50)
    assert (answer["name"], answer["mistakes"]) == ("mine", 1)
    assert max(map(len, answer["text"].splitlines())) <= 50


async def test_a_drawing_by_path_marks_the_current_state(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "mine.workflow"
    path.write_text(TEXT)
    plain = await draw(catalog, name=str(path))
    marked = await draw(catalog, name=str(path), current="b")
    assert plain["name"] == marked["name"] == "mine"
    assert "╔" not in plain["text"]
    assert marked["text"].split("╔")[1].splitlines()[1].strip(" │").startswith("║ b ")


async def test_obfuscated_a_drawing_has_no_name(
    catalog: Catalog,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    path = tmp_path / "mine.workflow"
    path.write_text(TEXT.replace("a", "secret_one"))
    answer = await draw(catalog, name=str(path), obfuscate=True)
    assert "obf_" in answer["text"]
    assert "secret_one" not in answer["text"]


async def test_what_cannot_be_drawn_says_why(catalog: Catalog) -> None:
    with pytest.raises(UnknownWorkflow):
        await draw(catalog, name="nowhere")
    with pytest.raises(InvalidInput, match="mermaid"):
        await draw(catalog, text=TEXT, format="poem")


async def hints(text: str) -> list[tuple[int, int, int, str]]:
    found = (await language.check({"text": text}))["diagnostics"]
    return [
        (each["line"], each["column"], each["end_column"], each["message"])
        for each in found
        if each["severity"] == "hint"
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_transition_that_became_guidance_gets_a_hint(end: str) -> None:
    lines = ["* to a:", "  Go.", "", "  : Done", "  a to b:", "    Do.", "", "a to b", "b to *", ""]
    message = "looks like a transition but is indented: it is guidance of 'a'"
    assert await hints(end.join(lines)) == [(5, 3, 10, message)]


@pytest.mark.parametrize(
    "line", ["  From a to b", "  a to c", "  a to b: now", "  a too b", "  : a to b", "a to b"]
)
async def test_other_guidance_gets_no_hint(line: str) -> None:
    assert await hints(f"* to a:\n  Go.\n\n{line}\n\na to b\nb to *\n") == []


async def test_guidance_that_goes_on_gets_no_hint() -> None:
    assert await hints("* to a:\n  The ways are\n  a to b\na to b\n\n  a to b\nb to *\n") == []
