"""Thoughts and the answer, told apart in a text however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

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
}


def split(*deltas: str) -> tuple[str, str]:
    """Return the thoughts and the answer that a reader of the pieces has in the end."""
    splitter = ThoughtSplitter()
    said = {Kind.THOUGHT: "", Kind.ANSWER: ""}
    for kind, text in [*(piece for delta in deltas for piece in splitter.feed(delta)), *splitter.finish()]:
        if kind is Kind.RETRACTION:
            assert said[Kind.ANSWER].endswith(text)
            said[Kind.ANSWER] = said[Kind.ANSWER].removesuffix(text)
        said[Kind.ANSWER if kind is Kind.ANSWER else Kind.THOUGHT] += text
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


def test_words_before_a_thought_stay_and_a_fence_behind_it_begins_a_line() -> None:
    assert split(f"Sure! <think>\n{DRAFT}\n</think>{CODE}")[1] == f"Sure! \n{CODE}"
    assert split(f"Sure!\n<think>\n{DRAFT}\n</think>\n\n{CODE}")[1] == f"Sure!\n{CODE}"


def test_the_indentation_of_the_first_line_stays() -> None:
    assert split("<think>x</think>\n\n    return 1\n")[1] == "    return 1\n"


@pytest.mark.parametrize("text", [f"<think>\nhm\n{DRAFT}", "[THINK]a\n", "<think>\n```\nx = '</think>'\n"])
def test_a_thought_without_an_end_is_no_answer(text: str) -> None:
    assert split(text)[1] == ""


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
    text = draw(st.one_of(TEXTS, st.sampled_from([*THOUGHTS.values(), *OWN.values()])))
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]


@pytest.mark.parametrize("text", [*THOUGHTS.values(), *OWN.values()], ids=[*THOUGHTS, *OWN])
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
