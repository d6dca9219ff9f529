"""Thoughts and answer are separated, for any cut of the text."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, strategies as st

from tideate_core.adapters.answer_lines import is_line_of_code
from tideate_core.adapters.thoughts import Kind, ThoughtSplitter

DRAFT = "```python\nimport math\n\ndef f(x):\n    return x + 1\n```"
CODE = "```python\ndef f(x):\n    return x + 2\n```"
END = "<|end|><|start|>assistant<|channel|>final<|message|>"

THOUGHTS = {
    "tags": f"<think>\nhm\n{DRAFT}\n</think>\n\n{CODE}",
    "an empty thought": f"<think>\n\n</think>\n\n{CODE}",
    "in one line": f"<think>hm</think>{CODE}",
    "no opening tag": f"Hm.\n{DRAFT}\nToo long.\n</think>\n\n{CODE}",
    "no opening tag, glued": f"Hm, {DRAFT}</think>{CODE}",
    "a quotation before the closing tag": f'It says "no"</think>\n{CODE}',
    "two thoughts": f"<think>\na\n</think>\n<think>\n{DRAFT}\n</think>\n{CODE}",
    "capital letters": f"<Think>\n{DRAFT}\n</THINK>\n{CODE}",
    "another word": f"<thinking>\n{DRAFT}\n</thinking>\n{CODE}",
    "a namespace": f"<seed:think>\n{DRAFT}\n</seed:think>\n{CODE}",
    "a namespace with a number": f"<some-model3.1:think>\n{DRAFT}\n</some-model3.1:think>\n{CODE}",
    "a word of the beginning": f"<reasoning>{DRAFT}\n</reasoning>\n{CODE}",
    "brackets": f"[THINK]hm\n{DRAFT}\n[/THINK]\n{CODE}",
    "marks": f"<|START_THINKING|>hm {DRAFT}<|END_THINKING|><|START_RESPONSE|>{CODE}<|END_RESPONSE|>",
    "a channel of thoughts": f"<|channel>thought\n{DRAFT}\n<channel|>{CODE}<turn|>",
    "channels": f"<|channel|>analysis<|message|>hm\n{DRAFT}\n{END}{CODE}<|return|>",
    "channels with words": f"<|channel|>commentary to=x <|constrain|>json<|message|>{DRAFT}{END}{CODE}",
    "channels, without the first mark": f"analysis<|message|>hm\n{DRAFT}\n{END}{CODE}",
    "channels, begun by the server": f"hm\n{DRAFT}\n{END}{CODE}",
    "channels without marks": f"analysisWe need {DRAFT}\nassistantfinal{CODE}",
    "a fence that the thought leaves open": f"<think>\n```python\ndraft\n</think>\n\n{CODE}",
    "a tag behind a fence": f"<think>hm {DRAFT}</think>{CODE}",
    "a tag in the code of a thought": f"<think>\n```\nx = '</think>'\n</think>\n```\n</think>\n{CODE}",
    "a tag that a thought names": f"<think>It ends with `</think>`.\n{DRAFT}\n</think>\n{CODE}",
    "a tag that a thought names bare": f"<think>It ends with </think> here.\n{DRAFT}\n</think>\n{CODE}",
    "line ends of Windows": f"<think>\r\nhm\r\n</think>\r\n\r\n{CODE}",
    "blanks in the tags": f"<think >\n{DRAFT}\n</think >\n{CODE}",
    "attributes": f'<think signature="plan://a" id=1>\n{DRAFT}\n</think>\n{CODE}',
    "analysis": f"<analysis>\n{DRAFT}\n</analysis>\n{CODE}",
    "a scratchpad": f"<Scratchpad>\n{DRAFT}\n</Scratchpad>\n{CODE}",
    "a closing tag at the beginning": f"</think>\n\n{CODE}",
    "no opening tag, with a list": f"The user wants x = 1.\n\n- a\n1. b\n\n{DRAFT}\n</think>\n\n{CODE}",
    "no opening tag, after a sentence": f"Okay.\n{DRAFT}\nI do it. </think>\n\n{CODE}",
    "no opening tag, with a headline": f"# Plan\n\n{DRAFT}\n</think>\n{CODE}",
    "no opening tag, with code that has no fence": f"Hm.\ndef f(x):\n    return 1\n</think>\n\n{CODE}",
    "no opening tag, in another script": f"\u55ef\u3002\n{DRAFT}\n\u597d\u3002</think>\n{CODE}",
}
OWN = {
    "tags in a fence": "```\n<think>\nx\n</think>\n[THINK]\n<|im_end|>\n<|channel|>final<|message|>\n```",
    "tags in backticks": "Between `<think>` and `</think>`, or ` <|channel|>analysis<|message|> `.\n",
    "tags in quotation marks": '{\n "open": "<think>",\n "close": "</think>"\n}',
    "tags in one line of prose": "Use <think> and </think> tags.\n",
    "a tag in prose": "The <think> tag begins it.\n\n```\n</think>\n```\nbye",
    "a pattern": 'The pattern is\n```\nr"<think>(.*?)</think>"\n```\n',
    "a word": "analysis of the code:\n" + CODE,
    "no answer behind it": "analysisWe need " + DRAFT,
    "an end token in code": "```\nprint('</s>')\n```",
    "a word struck through": "<s>no</s>",
    "prose that names both": "The model writes <think> first.\nIt ends with </think> on a line.\n",
    "prose that names one": "It drops everything up to </think>\nand no more.\n",
    "prose behind a fence": f"{CODE}\nIt drops all up to </think>\n",
    "prose that names brackets": "The token [THINK] begins it and [/THINK] ends it.\nDone.",
}
PROGRAMS = {
    "JSON": '{\n  "text": "hm\\n</think>\\nanswer",\n  "other": "<think>x</think>"\n}',
    "JSON in one line": '{"text": "hm</think>x", "mark": "<|channel|>analysis<|message|>[THINK]"}',
    "a list": '["a</think>b"]',
    "HTML": "<div>\n  <think>\n    x\n  </think>\n</div>\n",
    "XML": '<?xml version="1.0"?>\n<root>\n<think>\nx\n</think>\n</root>',
    "a component": '<Think mode="deep">\n  hi\n</Think>\n',
    "JSX": "return (\n<div>\n<think>\nx\n</think>\n</div>\n);",
    "a diff": "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n <think>\n-x\n+y\n </think>\n",
    "a diff of git": "diff --git a/x b/x\n@@ -1 +1 @@\n foo\n </think>\n+</think>\n",
    "a docstring": '    """Drop thoughts.\n\n    All up to </think>\n    </think>\n    """\n    return 1\n',
    "a docstring of a module": '"""Drop.\n\nAll before\n</think>\nis dropped.\n"""\nx = 1\n',
    "a function": "def f(text):\n    # ends with </think>\n    return text\n",
    "comments": "# Up to\n# </think>\n# is dropped</think>\ndef f(): ...\n",
    "a template": "const a = `\n<think>\nx\n</think>\n`;\n",
    "Lua": "--- Drops thoughts.\n--- Ends at </think>\nlocal M = {}\n",
    "a table": "id,text\n1,hm</think>x\n",
    "YAML": "text: |\n  <think>\n  x\n  </think>\nother: a</think>b\n",
    "TOML": '[section]\ntext = """\n<think>\nx\n</think>\n"""\n',
    "a report": "<report>\n<analysis>\nx\n</analysis>\n</report>",
}


def split(*deltas: str) -> tuple[str, str]:
    """Return the final thoughts and answer of a reader of the pieces."""
    splitter = ThoughtSplitter()
    said = {Kind.THOUGHT: "", Kind.ANSWER: ""}
    for kind, text in [*(piece for delta in deltas for piece in splitter.feed(delta)), *splitter.finish()]:
        if kind is Kind.RETRACTION:
            assert said[Kind.ANSWER].endswith(text)
            said[Kind.ANSWER] = said[Kind.ANSWER].removesuffix(text)
        if kind is Kind.RESTORATION:
            assert said[Kind.THOUGHT].endswith(text)
            said[Kind.THOUGHT] = said[Kind.THOUGHT].removesuffix(text)
        said[Kind.ANSWER if kind in (Kind.ANSWER, Kind.RESTORATION) else Kind.THOUGHT] += text
    assert said[Kind.ANSWER] == splitter.answer
    return said[Kind.THOUGHT], said[Kind.ANSWER]


@pytest.mark.parametrize("text", THOUGHTS.values(), ids=THOUGHTS.keys())
def test_the_answer_has_no_thoughts(text: str) -> None:
    thoughts, answer = split(text)
    assert answer == CODE
    assert "import math" in thoughts or DRAFT not in text


@pytest.mark.parametrize("text", OWN.values(), ids=OWN.keys())
def test_tags_that_are_the_answers_own_stay(text: str) -> None:
    assert split(text) == ("", text)


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_tags_in_code_without_a_fence_stay(text: str) -> None:
    assert split(text) == ("", text)
    assert split(f"<think>\nhm\n</think>\n{text}")[1] == text


@pytest.mark.parametrize("name", ["JSON", "JSON in one line", "XML", "a diff", "a diff of git"])
def test_tags_in_code_behind_prose_stay(name: str) -> None:
    text = f"Here it is:\n\n{PROGRAMS[name]}"
    assert split(text) == ("", text)


@pytest.mark.parametrize("answer", ["Here it is</think>done", "Code: print('</think>')"])
def test_a_closing_tag_in_a_line_behind_a_thought_is_a_word(answer: str) -> None:
    assert split(f"<think>reason</think>{answer}") == ("reason", answer)


@pytest.mark.parametrize(
    "line",
    [
        "Okay, the user wants x.",
        "hm",
        "- a list",
        "1. First",
        "**Plan**",
        "> quoted",
        "`f` is wrong",
        "",
        "-1 is",
    ],
)
def test_prose_is_no_code(line: str) -> None:
    assert not is_line_of_code(line)


def test_words_before_a_thought_stay_and_a_fence_behind_it_begins_a_line() -> None:
    assert split(f"Sure! <think>\n{DRAFT}\n</think>{CODE}")[1] == f"Sure! \n{CODE}"
    assert split(f"Sure!\n<think>\n{DRAFT}\n</think>\n\n{CODE}")[1] == f"Sure!\n{CODE}"
    assert split("Here it is.<think>hm, so and so.</think>Five.")[1] == "Here it is.\nFive."
    assert split(f"Sure!\n<analysis>\n{DRAFT}\n</analysis>\n\n{CODE}")[1] == f"Sure!\n{CODE}"


def test_the_indentation_of_the_first_line_stays() -> None:
    assert split("<think>x</think>\n\n    return 1\n")[1] == "    return 1\n"


@pytest.mark.parametrize("text", [f"<think>\nhm\n{DRAFT}", "[THINK]a\n", "<think>\n```\nx = '</think>'\n"])
def test_a_thought_without_an_end_is_no_answer(text: str) -> None:
    assert split(text)[1] == ""


@pytest.mark.parametrize("tag", ["</think>", "[/THINK]", "</seed:think>", "<|END_THINKING|>", "◁/think▷"])
@pytest.mark.parametrize("end", ["", "\n\n", "<|im_end|>\n"])
def test_a_closing_tag_at_the_end_leaves_the_answer(tag: str, end: str) -> None:
    assert split(f"{CODE}\n{tag}{end}") == ("", f"{CODE}\n")
    assert split(f"{CODE}\n{tag}\n{tag}{end}") == ("", f"{CODE}\n")
    assert split(f"It is five.{tag}{end}")[1] == "It is five."
    assert split(f"<think>hm</think>\n{CODE}\n{tag}\n")[1] == f"{CODE}\n"
    splitter = ThoughtSplitter()
    splitter.feed(f"hm\n{tag}{end}")
    splitter.finish(before_call=True)
    assert splitter.answer == ""


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "</s>",
        "<|eot_id|>",
        "<end_of_turn>",
        "<|endoftext|>",
        "<|end|>",
        "<|im_end|><|endoftext|>",
    ],
)
@pytest.mark.parametrize("between", ["", "\n", " "])
def test_end_tokens_behind_an_answer_are_left_out(token: str, between: str) -> None:
    assert split(f"{CODE}{between}{token}")[1].rstrip() == CODE
    assert split(f"Done.{between}{token}\n")[1].rstrip() == "Done."


def test_an_end_token_behind_a_closing_fence_does_not_keep_it_open() -> None:
    assert split(f"{CODE}<|im_end|>\nDone.")[1] == f"{CODE}\nDone."


def test_text_is_passed_on_as_soon_as_it_is_known() -> None:
    splitter = ThoughtSplitter()
    assert splitter.feed("one two <") == [(Kind.ANSWER, "one two ")]
    assert splitter.feed("= 3") == [(Kind.ANSWER, "<= 3")]


TEXTS = st.lists(
    st.sampled_from(
        [
            *(
                "<think>",
                "</think>",
                "<|channel|>",
                "analysis",
                "final",
                "<|message|>",
                "<|end|>",
                "<|start|>",
                "<think ",
                "</think >",
                ' a="1">',
            ),
            *(
                "assistant",
                "assistantfinal",
                "[THINK]",
                "[/THINK]",
                "<reasoning>",
                "</reasoning>",
                "<channel|>",
            ),
            *(
                "<|channel>",
                "</s>",
                "<|im_end|>",
                "```",
                "```python",
                "````",
                "~~~",
                "`",
                "'",
                '"',
                "<",
                "<th",
            ),
            *("\n", "\r\n", " ", "    ", "\t", "a", "Foo.", "é", "😀"),
        ]
    ),
    max_size=24,
).map("".join)


@st.composite
def cut_texts(draw: st.DrawFn) -> list[str]:
    text = draw(st.one_of(TEXTS, st.sampled_from([*THOUGHTS.values(), *OWN.values(), *PROGRAMS.values()])))
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]


@pytest.mark.parametrize(
    "text", [*THOUGHTS.values(), *OWN.values(), *PROGRAMS.values()], ids=[*THOUGHTS, *OWN, *PROGRAMS]
)
def test_a_text_that_comes_letter_by_letter_is_split_like_the_whole(text: str) -> None:
    assert split(*text) == split(text)


@pytest.mark.slow
@given(cut_texts())
def test_how_a_text_is_cut_makes_no_difference(deltas: list[str]) -> None:
    whole = "".join(deltas)
    assert split(*deltas) == split(whole) == split(*whole)


@pytest.mark.slow
@given(TEXTS, st.sampled_from(["```", "````", "~~~~"]))
def test_a_fence_of_an_answer_is_untouched(text: str, ticks: str) -> None:
    inner = text.replace(ticks[0], "")
    answer = f"Words.\n\n{ticks}\n{inner}\n{ticks}\n\nMore words.\n"
    assert split(answer) == ("", answer)
    assert split(f"<think>\nhm\n</think>\n{answer}")[1] == answer


NAMES = "<think> </think> <thinking> </Think> [THINK] [/THINK] <analysis> </analysis> <|END_THINKING|> </s>x"
TAGS = st.sampled_from([*NAMES.split(), "<think a='b'>", "<|channel|>analysis<|message|>"])
WORDS = st.sampled_from(["a", "x = 1", "Hm.", "the end", "", "    return 1", "é 😀", "- b"])
FORMS = {
    "JSON": lambda text: json.dumps({"text": text, "n": 1}, indent=1),
    "a list": lambda text: json.dumps([text], ensure_ascii=False),
    "a diff": lambda text: (
        "--- a/x\n+++ b/x\n@@ -1 +1,9 @@\n" + "".join(f"+{line}\n" for line in text.split("\n"))
    ),
    "context of a diff": lambda text: (
        "diff --git a/x b/x\n@@ -1,9 +1 @@\n-a\n" + "".join(f" {line}\n" for line in text.split("\n"))
    ),
    "markup": lambda text: f"<div>\n{text}\n</div>\n",
    "a docstring": lambda text: f'    """Split.\n\n    {text}\n    """\n    return 1\n',
    "a function": lambda text: f'def f():\n    """{text}"""\n',
    "a component": lambda text: f"export default function F() {{\n return <p>{text}</p>;\n}}\n",
}


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, str]:
    """Return a possibly empty thought, and an answer in code with tags in any place."""
    pieces = draw(st.lists(st.one_of(TAGS, WORDS, st.sampled_from(["\n", " "])), min_size=1, max_size=12))
    answer = FORMS[draw(st.sampled_from(sorted(FORMS)))]("".join(pieces))
    return draw(st.sampled_from(["", "<think>\nhm\n</think>\n", "Hm.\n</think>\n\n", "</think>\n"])), answer


@pytest.mark.slow
@given(programs(), st.lists(st.integers(0, 300), max_size=8))
def test_an_answer_in_code_is_untouched_however_it_is_cut(drawn: tuple[str, str], places: list[int]) -> None:
    thought, answer = drawn
    text = thought + answer
    cuts = sorted({0, len(text), *(place for place in places if place < len(text))})
    assert split(*(text[a:b] for a, b in itertools.pairwise(cuts)))[1] == answer


LINES = st.lists(
    st.sampled_from(["Okay, so", "The user wants x.", "- a list", "1. One", "", "So x = 1.", "Wait, no."]),
    min_size=1,
    max_size=6,
).map("\n".join)
PAIRS = [
    ("<think>", "</think>"),
    ("<Thinking>", "</thinking>"),
    ("<think a=1>", "</think >"),
    ("[THINK]", "[/THINK]"),
]


@pytest.mark.slow
@given(LINES, st.sampled_from(PAIRS), st.booleans(), st.sampled_from(["", "Sure.\n", "Let me see:\n\n"]))
def test_thoughts_in_prose_are_no_answer(
    lines: str, tags: tuple[str, str], has_opening: bool, words: str
) -> None:
    opening = f"{words}{tags[0]}\n" if has_opening else "Hm.\n"
    thoughts, answer = split(f"{opening}{lines}\n{DRAFT}\n{tags[1]}\n\n{CODE}")
    assert answer == (words if has_opening else "") + CODE
    assert DRAFT in thoughts
