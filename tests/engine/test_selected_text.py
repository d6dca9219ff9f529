"""Selected lines as variables of prompts."""

from __future__ import annotations

from tideate_core.engine.request import Subject
from tideate_core.workflows import BufferContext, RunContext, Selection

BUFFER = BufferContext(number=1, path="/project/src/a.py", text="a\r\nb\r\nc\r\nd", filetype="python")


def subject(lines: tuple[int, int] | None = None, cwd: str = "/project") -> Subject:
    selection = None if lines is None else Selection(start=lines[0], end=lines[1])
    found = Subject.of(RunContext(cwd=cwd, buffer=BUFFER, selection=selection))
    assert found is not None
    return found


def test_where_there_is_no_buffer_there_is_no_text() -> None:
    assert Subject.of(RunContext()) is None


def test_selected_lines_are_counted_from_one_and_shown_without_carriage_returns() -> None:
    values = subject((2, 3)).variables()
    assert (values["text"], values["first"], values["last"]) == ("b\nc", 2, 3)
    assert (values["path"], values["language"]) == ("src/a.py", "python")


def test_without_a_selection_the_whole_text_is_meant_and_no_line_is_named() -> None:
    values = subject().variables()
    assert (values["text"], values["first"], values["last"]) == ("a\nb\nc\nd", None, None)


def test_a_path_outside_of_the_project_stays_whole() -> None:
    assert subject(cwd="/other").path == "/project/src/a.py"


def test_lines_around_the_selection_stop_at_the_ends_of_the_text() -> None:
    around = subject((2, 2)).around(5)
    assert (around["before"], around["after"]) == ("a\r", "c\r\nd")
    assert subject((2, 2)).around(0) == {"before": "", "after": ""}
