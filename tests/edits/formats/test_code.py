"""Weak models' answers become correct edits or errors, never a damaged text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.edits.formats.code import extract_code
from tideate_core.errors import UnusableAnswer

OLD = ["def total(xs):", "    result = 0", "    for x in xs:", "        result += x", "    return result"]
NEW = ["def total(xs):", "    return sum(xs)"]
CODE = "\n".join(NEW)


def python(answer: str, old: list[str] | None = OLD) -> list[str]:
    return extract_code(answer, language="python", old=old)


def refused(answer: str, *, language: str = "python", old: list[str] | None = OLD) -> str:
    with pytest.raises(UnusableAnswer) as error:
        extract_code(answer, language=language, old=old)
    return str(error.value)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(f"```python\n{CODE}\n```", id="one fence"),
        pytest.param(f"```\n{CODE}\n```", id="no tag"),
        pytest.param(f'```py title="a.py"\n{CODE}\n```', id="an alias and a title"),
        pytest.param(f"```{{.python}}\n{CODE}\n```", id="a pandoc tag"),
        pytest.param(f"```src/total.py\n{CODE}\n```", id="a path as tag"),
        pytest.param(f"~~~python\n{CODE}\n~~~", id="tildes"),
        pytest.param(f"````python\n{CODE}\n````", id="four backticks"),
        pytest.param(f"```ruby\n{CODE}\n```", id="a wrong tag on the only block"),
        pytest.param(f"```text\n{CODE}\n```", id="tagged as text"),
        pytest.param(f"Sure! Here it is:\n\n```python\n\n{CODE}\n\n```\n\nIt uses `sum`.", id="words around"),
        pytest.param(f"1. Do this:\n   ```python\n   {NEW[0]}\n   {NEW[1]}\n   ```", id="in a list"),
        pytest.param(f"```python\r\n{NEW[0]}\r\n{NEW[1]}\r\n```\r\n", id="CRLF"),
        pytest.param(f"\ufeff```python\n{CODE}\n```", id="a byte order mark"),
        pytest.param(f"<think>```python\nno\n```</think>\n```python\n{CODE}\n```", id="thoughts before"),
        pytest.param(f"```python\n{CODE}\n```\n```", id="a stray fence at the end"),
        pytest.param(f"{CODE}\n```", id="only a closing fence"),
        pytest.param(CODE, id="no fence"),
        pytest.param(f"\n\n{CODE}\n\n", id="no fence, blank lines"),
        pytest.param(f"```markdown\nHere:\n```python\n{CODE}\n```\n```", id="wrapped in Markdown"),
        pytest.param(f"```bash\npip install x\n```\n```python\n{CODE}\n```", id="commands beside it"),
        pytest.param(f"```python\n{CODE}\n```\nOutput:\n```\n6\n```", id="a short block after it"),
        pytest.param(
            "```python\n" + "\n".join(OLD) + f"\n```\nto\n```python\n{CODE}\n```", id="the old text quoted"
        ),
        pytest.param(
            f"```python\n{NEW[0]}\n    return 1\n```\nbetter:\n```python\n{CODE}\n```", id="two drafts"
        ),
        pytest.param(f"```python\n{CODE}\n```\nAgain:\n```python\n{CODE}\n```", id="the same twice"),
    ],
)
def test_the_code_is_found(answer: str) -> None:
    assert python(answer) == NEW


def test_one_line_between_backticks_is_code() -> None:
    assert extract_code("`x = 1`", language="python", old=["x = 0"]) == ["x = 1"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param("", "empty", id="nothing"),
        pytest.param(" \n\t\n", "empty", id="blanks"),
        pytest.param("```python\n\n```", "empty", id="an empty block"),
        pytest.param("```python\ndef total(xs):\n    return su", "cut off", id="no closing fence"),
        pytest.param(
            f"```python\n{CODE}\n```\nand\n```python\nprint(", "cut off", id="the second one cut off"
        ),
        pytest.param("<think>first I would look at", "ended before the code", id="cut off in thoughts"),
        pytest.param("I cannot help with that.", "no code", id="a refusal"),
        pytest.param("Done", "no code", id="a word"),
        pytest.param(f"Here is the code:\n{CODE}", "no code", id="words before, no fence"),
        pytest.param(
            f"{CODE}\n\nThis version uses the built-in sum function.", "no code", id="words after, no fence"
        ),
        pytest.param(
            "x = 1\nThen you add one more line.\nNow you can call it again.\ny = 2",
            "no code",
            id="words between",
        ),
        pytest.param("```diff\n-a\n+b\n```", "marked as diff", id="a block marked as a diff"),
        pytest.param("```python\n@@ -1,2 +1,2 @@\n-a\n+b\n```", "is a diff", id="a hunk"),
        pytest.param("```python\n--- a/x.py\n+++ b/x.py\n```", "is a diff", id="a diff's header"),
        pytest.param(
            "```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```", "markers", id="search/replace"
        ),
        pytest.param("```bash\npip install numpy\n```", "marked as bash", id="only commands"),
        pytest.param('```json\n{"code": "x = 1"}\n```', "marked as json", id="code inside JSON"),
        pytest.param(
            "```python\na = 1\nb = 2\n```\n```python\nc = 3\nd = 4\n```", "2 code blocks", id="two halves"
        ),
        *(
            pytest.param(
                f"```python\n{NEW[0]}\n    return 1\n```\n{words}\n```python\n{CODE}\n```",
                "2 code blocks",
                id=f"alternatives: {words}",
            )
            for words in (
                "or",
                "Or, better:",
                "Alternatively:",
                "",
                "Option 2",
                "Another correct way:",
                "\u6216\u8005",
            )
        ),
        pytest.param(
            f"```python\n{CODE}\n    return 1\n```\nor\n```python\n{CODE}\n    return 2\n    # three\n```\n"
            f"Final:\n```python\n{CODE}\n```",
            "3 code blocks",
            id="alternatives before a last one",
        ),
        pytest.param(
            "Change\n```python\n    result = 0\n```\nto\n```python\n    x = 0\n    y = 1\n    z = 2\n```",
            "2 code blocks",
            id="a part quoted and its replacement",
        ),
    ],
)
def test_what_cannot_be_used_has_a_reason(answer: str, reason: str) -> None:
    assert reason in refused(answer)


def test_an_unknown_language_takes_any_block() -> None:
    assert extract_code('```json\n{"a": 1}\n```', language="", old=None) == ['{"a": 1}']


def test_near_languages_stand_for_each_other() -> None:
    answer = "```bash\nnpm i\n```\n```javascript\nlet a = 1;\n```"
    assert extract_code(answer, language="typescript", old=None) == ["let a = 1;"]


README = ["# Title", "", "```bash", "make run", "```", "", "End."]


def markdown(answer: str, old: list[str] | None = None) -> list[str]:
    return extract_code(answer, language="markdown", old=old)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("````markdown\n" + "\n".join(README) + "\n````", id="a longer fence"),
        pytest.param("```markdown\n" + "\n".join(README) + "\n```", id="the same fence"),
        pytest.param("Here you are:\n```md\n" + "\n".join(README) + "\n```\nGood luck!", id="words around"),
        pytest.param("```\n" + "\n".join(README) + "\n```", id="no tag"),
        pytest.param("\n".join(README), id="no fence around"),
    ],
)
def test_markdown_keeps_its_own_fences(answer: str) -> None:
    assert markdown(answer) == README


def test_bare_fences_in_markdown_are_its_own_where_the_old_text_has_such() -> None:
    text = ["# Title", "```", "make", "```", "End."]
    answer = "```markdown\n" + "\n".join(text) + "\n```"
    assert markdown(answer, old=["# Old", "```", "make all", "```"]) == text


def test_bare_fences_in_new_markdown_are_ambiguous() -> None:
    assert "four backticks" in refused("```markdown\nA\n```\nx\n```\nB\n```", language="markdown", old=None)


def test_markdown_that_is_one_code_block_keeps_its_fences() -> None:
    assert markdown("```python\nx = 2\n```", old=["```python", "x = 1", "```"]) == [
        "```python",
        "x = 2",
        "```",
    ]


def test_a_text_with_words_around_it_and_no_fence_is_refused() -> None:
    assert "words around" in refused("Here is the new text:\n# Title", language="markdown", old=["# Old"])


def test_fences_in_a_docstring_do_not_end_the_code() -> None:
    old = ['"""', "Use:", "```", "run()", "```", '"""', "x = 1"]
    new = [*old[:-1], "x = 2"]
    assert python("```python\n" + "\n".join(new) + "\n```", old) == new
    indented = ["def f():", '    """', "    ```", "    f()", "    ```", '    """']
    assert python("```python\n" + "\n".join(indented) + "\n```", ["def f(): pass"]) == indented


def test_code_without_a_fence_may_have_sentences_in_a_docstring() -> None:
    code = [
        "def total(xs):",
        '    """',
        "    Return the sum of all the numbers.",
        '    """',
        "    return sum(xs)",
    ]
    assert python("\n".join(code)) == code


@pytest.mark.parametrize(
    "first", ["for x in all of them:", "while not done and alive:", "# Here is the sum.", "return x"]
)
def test_code_without_a_fence_may_begin_with(first: str) -> None:
    assert python(f"{first}\n    pass()")[0] == first


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_answer_is_code_or_has_a_reason(answer: str) -> None:
    try:
        code = extract_code(answer, language="python", old=OLD)
    except UnusableAnswer as error:
        assert str(error)
    else:
        assert code[0].strip() and code[-1].strip()


LINES = st.lists(
    st.text(st.characters(exclude_categories=["C"], exclude_characters="`~.…"), min_size=1, max_size=20),
    min_size=1,
    max_size=8,
)


@pytest.mark.slow
@given(LINES)
def test_a_fenced_block_comes_back_as_it_was_written(lines: list[str]) -> None:
    expected = "\n".join(lines).split("\n")
    filled = [i for i, line in enumerate(expected) if line.strip()]
    answer = "```python\n" + "\n".join(expected) + "\n```"
    if filled:
        got = extract_code(answer, language="python", old=expected)
        assert got == expected[filled[0] : filled[-1] + 1]
