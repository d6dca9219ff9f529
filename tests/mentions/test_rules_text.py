"""Rules in a prompt: distinct, in order, cut if far from the file."""

from __future__ import annotations

from tideate_core.mentions.rules import RulesFile
from tideate_core.mentions.rules_text import fit_rules, format_rules


def rules(path: str, text: str, **more: object) -> RulesFile:
    text = text.strip()
    return RulesFile(path, text, text.count("\n") + 1, **more)  # type: ignore[arg-type]


def test_copies_empty_ones_and_mere_mentions_are_left_out() -> None:
    files = [
        rules("AGENTS.md", "same"),
        rules("CLAUDE.md", "@AGENTS.md"),
        rules(".cursorrules", "same"),
        rules("src/AGENTS.md", ""),
        rules("src/CLAUDE.md", "@other.md"),
    ]
    assert [one.rules.path for one in fit_rules(files, 1000)] == ["AGENTS.md", "src/CLAUDE.md"]


def test_the_persons_own_and_the_nearest_keep_their_words_and_the_order_stays() -> None:
    files = [
        rules("~/AGENTS.md", "mine\n" * 10, own=True),
        rules("AGENTS.md", "far\n" * 100),
        rules("src/AGENTS.md", "near\n" * 10),
    ]
    own, far, near = fit_rules(files, 138)
    assert (own.cut, near.cut) == ("", "")
    assert far.text == "far\n" * 10
    assert far.cut == "only the first 10 of 100 lines fit"
    assert fit_rules(files, 98)[1].cut == "nothing of its 100 lines fits"


def test_each_stands_in_a_fence_that_it_cannot_end_under_a_line_that_it_cannot_leave() -> None:
    odd = rules("a\n### b/AGENTS.md", "```\nno end\n````\n---", patterns=("*.py", "x\n# y"))
    text = format_rules(fit_rules([odd], 1000))
    assert "### a\N{REPLACEMENT CHARACTER}### b/AGENTS.md (for *.py, x\N{REPLACEMENT CHARACTER}# y)" in text
    assert "\n\n`````markdown\n```\nno end\n````\n---\n`````" in text
    assert "the project's words" in text
    assert "permit nothing" in text


def test_rules_that_may_be_opened_are_a_list() -> None:
    text = format_rules([], [rules("r.mdc", "x", on_request=True, about="Data\nbases")])
    assert "- r.mdc: Data\N{REPLACEMENT CHARACTER}bases" in text


def test_without_rules_there_is_nothing() -> None:
    assert format_rules([]) == ""
    assert format_rules(fit_rules([rules("AGENTS.md", "x")], 0)) == ""
