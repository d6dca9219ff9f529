"""Front matter of rules files and skills, which is often invalid YAML."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.mentions.front_matter import read_front_matter


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        ("globs: *.ts,*.tsx", ["*.ts,*.tsx"]),
        ('globs: "**/*.py"  # all', ["**/*.py"]),
        ("globs: src/** # all", ["src/**"]),
        ("globs: ['*.ts', \"*.js\"]", ["*.ts", "*.js"]),
        ("globs:\n  - '*.ts'\n  - lib/**\n", ["*.ts", "lib/**"]),
        ("globs:\n- a\n- b", ["a", "b"]),
        ("globs: >-\n  one\n  two", ["one two"]),
        ("globs: |\n  one\n  two", ["one\ntwo"]),
        ("globs: one\n  two\nother: x", ["one two"]),
        ("globs:", []),
        ("  globs: nested", None),
    ],
)
def test_a_key_has_the_texts_that_stand_there(lines: str, texts: list[str] | None) -> None:
    keys, body = read_front_matter(f"---\n{lines}\n---\n\nthe body\n")
    assert (keys.get("globs"), body) == (texts, "the body\n")


@pytest.mark.parametrize(
    "text", ["", "no front matter", "---\nglobs: x\nwithout an end", "\n---\na: b\n---\n"]
)
def test_what_is_no_front_matter_is_text(text: str) -> None:
    assert read_front_matter(text) == ({}, text)


@given(st.text(alphabet="ab:-[]{}'\"|># \n\t"))
def test_anything_is_read(text: str) -> None:
    keys, _ = read_front_matter(f"---\n{text}\n---\n")
    assert all(isinstance(one, str) for texts in keys.values() for one in texts)
