"""Markdown headings, sections, items, and GitHub's anchors."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.util.markdown import DEEPEST, anchor_of, find_section, read_markdown


@pytest.mark.parametrize(
    ("title", "anchor"),
    [
        ("Errors", "errors"),
        ("Error codes & more", "error-codes--more"),
        ("What's new?", "whats-new"),
        ("`run()` and *stop*", "run-and-stop"),
        ("1.0.0 - 2024", "100---2024"),
        ("Größe der Datei", "größe-der-datei"),
        ("日本語 の 見出し", "日本語-の-見出し"),
        ("[A link](http://x.org/y) here", "a-link-here"),
        ("snake_case", "snake_case"),
        ("C#", "c"),
        ("😀 smile", "-smile"),
    ],
)
def test_anchors_are_githubs(title: str, anchor: str) -> None:
    assert anchor_of(title) == anchor


def test_headings_that_are_alike_are_numbered() -> None:
    found = read_markdown("# A\n# A\n# A-1\n# A\n").headings
    assert [heading.anchor for heading in found] == ["a", "a-1", "a-1-1", "a-2"]


def test_a_section_goes_to_the_next_heading_of_its_level_or_above() -> None:
    text = "# One\nx\n## Two\ny\n### Deep\nz\n## Three\n# Four\nend"
    spans = {heading.title: (heading.start, heading.end) for heading in read_markdown(text).headings}
    assert spans == {"One": (0, 7), "Two": (2, 6), "Deep": (4, 6), "Three": (6, 7), "Four": (7, 9)}


def test_underlined_headings_count_and_rules_do_not() -> None:
    text = "Title\n=====\n\ntext\nover two\n---\n\n---\n\n- item\n---\n    code\n---\n"
    assert [(one.level, one.title) for one in read_markdown(text).headings] == [
        (1, "Title"),
        (2, "text over two"),
    ]


def test_code_has_no_headings() -> None:
    text = "```sh\n# no\n```\n~~~\n# no\n```\n# no\n~~~\n# yes\n    # no\n#no\n#\n"
    assert [heading.title for heading in read_markdown(text).headings] == ["yes", ""]


def test_closing_marks_and_carriage_returns_belong_to_no_title() -> None:
    assert [one.title for one in read_markdown("## A ##\r\n# C#\r\n#  B  #  \r\n").headings] == [
        "A",
        "C#",
        "B",
    ]


@given(st.text(alphabet="#`~= -aA\n\r\t", max_size=200))
def test_every_text_has_sections_within_it(text: str) -> None:
    lines = text.count("\n") + 1
    anchors = [heading.anchor for heading in read_markdown(text).headings]
    assert all(0 <= one.start < one.end <= lines for one in read_markdown(text).headings)
    assert len(set(anchors)) == len(anchors)


def test_a_section_is_found_by_its_words_or_its_anchor() -> None:
    found = read_markdown("# Error codes\n# Error codes\n").headings
    first, second = find_section(found, "error CODES"), find_section(found, "error-codes-1")
    assert first is found[0]
    assert second is found[1]
    assert find_section(found, "nothing") is None


def test_front_matter_is_no_heading() -> None:
    document = read_markdown("---\ntitle: x\n---\n# A\n")
    assert [(one.title, one.line) for one in document.headings] == [("A", 4)]


def test_items_have_their_words_their_lines_and_their_level() -> None:
    text = "1. one\n   goes on\n   - [x] part\n\n* [ ] two\n- plain\n\n> - [x] quoted\n\n    - [x] code\n"
    found = [(one.text, one.level, one.bullet, one.checked, one.line) for one in read_markdown(text).items]
    assert found == [
        ("one", 1, ".", None, 1),
        ("part", 2, "-", True, 3),
        ("two", 1, "*", False, 5),
        ("plain", 1, "-", None, 6),
    ]
    one, part, two, _ = read_markdown(text).items
    assert one.has_part(part)
    assert not one.has_part(two)


def test_code_and_comments_are_no_prose() -> None:
    text = "a\n```\nb\n```\n<!-- c\nd -->\n\n    e\nf\n"
    assert [line for _, line in read_markdown(text).prose() if line] == ["a", "f"]


def test_a_carriage_return_alone_ends_no_line() -> None:
    assert [one.line for one in read_markdown("a\rb\r\n# C\n").headings] == [2]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["> ", ">", "- ", "1. ", "* > "])
def test_levels_of_lists_and_quotes_are_bounded(unit: str) -> None:
    document = read_markdown(unit * (200_000 // len(unit)) + "x\n\n# After\n")
    assert len(document.items) <= DEEPEST
    assert len(document.headings) <= 1
    document = read_markdown("\n".join("  " * depth + "- x" for depth in range(1_000)))
    assert max(item.level for item in document.items) <= DEEPEST
