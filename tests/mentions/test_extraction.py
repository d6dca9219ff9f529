"""Mentions are found in prose, but not in code or addresses."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from tideate_core.mentions.extraction import extract, parse_reference

NAMES = ["@Api", "@Guide", "@x_1", "@Größe"]
WORDS = [*NAMES, "see", "the", "(", ")", ", ", ". ", " ", "\n", "\n\n"]
PROSE = st.lists(st.sampled_from(WORDS), max_size=40)


def mentioned(path: str) -> str:
    """Mention a file; a path with spaces, or with final punctuation, is quoted."""
    return f'@file:"{path}"' if re.search(r"[\s`]|[^\w/]$", path) else f"@file:{path}"


@given(PROSE)
def test_in_prose_every_word_with_an_at_is_one_each_once_and_in_order(words: list[str]) -> None:
    text = " ".join(words)
    assert extract(text) == list(dict.fromkeys(re.findall(r"@\w+", text)))


@given(st.text(max_size=300), st.sets(st.sampled_from(NAMES)))
def test_nothing_is_found_that_the_text_does_not_have_and_nothing_twice(text: str, known: set[str]) -> None:
    found = extract(text, known)
    assert len(set(found)) == len(found)
    assert all(mention in text for mention in found)


@given(st.text(alphabet='@`~ab:/."\\\n -Api', max_size=200))
def test_a_mention_in_backticks_needs_a_configuration(text: str) -> None:
    fenced = f"````````\n{text.replace('`' * 8, '')}\n````````"
    assert extract(fenced) == []


@given(st.text(alphabet=st.characters(exclude_characters='"\n', exclude_categories=["Cs"]), min_size=1))
def test_any_path_can_be_mentioned_and_is_read_back(path: str) -> None:
    mention = mentioned(path)
    read = parse_reference(mention)
    assert read is not None
    assert (read.path if read.lines is None else read.whole) == path
    assert extract(f"look at {mention} now") == [mention]


@pytest.mark.parametrize(
    "text",
    [
        "mail me@host",
        "mail first.last@host.org today",
        "first.@x",
        "https://host/@user",
        r"a \@word",
        "@@double",
        "call `@word` or ``a ` @word`` b",
        "```python\n@word\n```",
        "~~~\n@word\n",
        "@app.route('/') serves",
        "npm i @scope/package",
        "@property\ndef f(self): ...",
        "  @cached\n  @property\n  async def f(self): ...",
        "@decorate(1)\nclass A: ...",
        "@dataclass\n\tclass A: ...",
        "@ alone, and @- too",
    ],
)
def test_these_are_none(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "@word",
        "(@word)",
        "'@word'",
        "see:@word.",
        "@word, and more",
        "a sentence.\n@word",
        "@word\n\ndef below a blank line",
        "- @word",
        "one ` tick, then @word",
        "`open @word\n\nclosed` in another paragraph",
        "```\ncode\n```\n@word",
        "@word (in brackets)",
    ],
)
def test_these_are(text: str) -> None:
    assert extract(text) == ["@word"]


@pytest.mark.parametrize("text", ["`@word`", "```\n@word\n```", "me@word", "@word.x", "@word\ndef f(): ..."])
def test_a_configured_name_is_one_wherever_it_stands(text: str) -> None:
    assert extract(text, {"@word"}) == ["@word"]


def test_an_address_with_a_domain_never_is() -> None:
    assert extract("me@word.org, me@word-more.org", {"@word"}) == []


@pytest.mark.parametrize(
    ("text", "mention"),
    [
        ("see @file:src/a.py.", "@file:src/a.py"),
        ("see @file:src/a.py:10-40, please", "@file:src/a.py:10-40"),
        ("(@file:a.py)", "@file:a.py"),
        ("@file:a(1).py)", "@file:a(1).py"),
        ("**@file:a.py**", "@file:a.py"),
        ('why @file:"my file.py":3-4?', '@file:"my file.py":3-4'),
        ('@file:"a b"', '@file:"a b"'),
        ("@symbols:src/", "@symbols:src/"),
        ("@tree: all of it", "@tree"),
        ("@diff:src.", "@diff:src"),
        ("@file:doc/a.md#errors", "@file:doc/a.md#errors"),
        ("@file: what", "@file"),
        ("@file:, what", "@file"),
    ],
)
def test_paths_end_where_the_sentence_goes_on(text: str, mention: str) -> None:
    assert extract(text) == [mention]


def test_a_long_text_full_of_backticks_takes_no_long_time() -> None:
    text = "`" + "a`` ` @x ``` " * 20_000
    assert extract(text)[:1] in ([], ["@x"])


def test_a_reference_has_its_path_and_lines() -> None:
    read = parse_reference('@file:"a b.py":10-40')
    assert read is not None
    assert (read.kind, read.path, read.lines, read.whole) == ("@file", "a b.py", (10, 40), "a b.py:10-40")
    one = parse_reference("@file:a.py:7")
    assert one is not None
    assert one.lines == (7, 7)
    assert parse_reference("@Api") is None
