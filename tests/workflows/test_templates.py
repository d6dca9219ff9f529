"""Templates: allowed constructs, and limits on time and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.workflows.test_prompts import write
from tideate_core.errors import ConfigError
from tideate_core.workflows import PromptLibrary

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10**10 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ '%10000000000d' % 1 }}",
        "{{ '{:>10000000000}'.format(1) }}",
        "{{ prompt|center(10000000000) }}",
        "{{ prompt|indent(10000000000) }}",
        "{{ range(1000000000)|list }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{{ text }}{% endfor %}",
        "{% for a in range(99999) %}{% if text|upper %}{% endif %}{% endfor %}",
        "{{ text|replace('a', text) }}",
        "{{ text|list|join(text) }}",
        "{% set a = text ~ text %}{% set b = a ~ a %}{% set c = b ~ b %}{{ c|length }}",
        "{% set a = text + text %}{% set b = a + a %}{% set c = b + b %}{{ c|length }}",
        "{% set a %}{{ text }}{{ text }}{% endset %}{{ a|length }}",
        "{% set a = [1] %}{% set b = [a, a] %}{{ b }}",
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for a in range(9) recursive %}{{ loop(range(9)) }}{% endfor %}",
        "{% include 'other' %}",
        "{{ 1 // 0 }}",
    ],
)
@pytest.mark.timeout(60)
def test_a_template_can_neither_stall_nor_fill_up_the_process(tmp_path: Path, template: str) -> None:
    library = write(tmp_path, f"S\n---\n{template}")
    with pytest.raises(ConfigError, match=r"ask\.md:"):
        library.render("ask", prompt="why", text="a" * 700_000)


def test_a_template_may_loop_filter_and_reckon(tmp_path: Path) -> None:
    template = (
        "{% for n in range(3) %}{{ n * 2 + 1 }},{% endfor %}"
        "{{ prompt + '!' }}{{ ('a' ~ n|default('b')) ~ 3 }}{{ names|map('upper')|join('-') }}"
        "{% if prompt in ('why', 'how') %} yes{% endif %}"
    )
    prompt = write(tmp_path, f"S\n---\n{template}").render("ask", prompt="why", names=["x", "y"])
    assert prompt.user == "1,3,5,why!ab3X-Y yes"


def test_a_large_text_fits_the_built_in_prompt() -> None:
    text = "x" * 3_000_000
    variables: dict[str, Any] = {"path": "", "language": "", "text": text, "fence": "```", "first": None}
    assert text in PromptLibrary().render("summarize", prompt="", last=None, **variables).user
