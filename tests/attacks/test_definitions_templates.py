# ruff: noqa: E501 - templates stand as they are tried
"""Templates and expressions that reach for Python, or would produce too much output."""

from __future__ import annotations

import time
from typing import Any, Final

import pytest

from tideate_core.engine.context.context import render_value
from tideate_core.errors import InvalidDefinition
from tideate_core.workflows import LIMITS
from tideate_core.workflows.expressions import evaluate, render_task

pytestmark = pytest.mark.attack

LONG: Final = "a" * 1_000_000
VALUES: Final[dict[str, Any]] = {
    "prompt": "hello",
    "inputs": {"name": "Ada", "text": LONG, "files": ["a.py", "b.py"], "numbers": list(range(5_000))},
    "context": {},
    "steps": {},
}
ESCAPES: Final = (
    "''.__class__.__mro__[1].__subclasses__()",
    "prompt.__class__",
    "prompt['__class__']",
    "prompt|attr('__class__')",
    "inputs.__class__.__init__.__globals__",
    "self.__init__.__globals__",
    "self._TemplateReference__context",
    "lipsum.__globals__['os'].popen('touch x')",
    "cycler.__init__.__globals__.os.system('touch x')",
    "joiner.__init__.__globals__",
    "namespace.__init__.__globals__",
    "dict.__base__",
    "config",
    "request.application.__globals__",
    "environment",
    "range.__self__",
    "''.join.__self__.__class__",
    "'{0.__class__}'.format(prompt)",
    "'{0.__class__.__mro__}'.format_map({'0': prompt})",
    "'%s'|format(prompt)",
    "prompt.format.__globals__",
    "inputs.files.append('x')",
    "inputs.files.clear()",
    "inputs.update({'name': 'x'})",
    "inputs.pop('name')",
    "inputs.files.__iadd__(['x'])",
    "inputs.files|map(attribute='__class__')|list",
    "inputs.files|map('attr', '__class__')|list",
    "inputs.files|sort(attribute='__class__.__name__')",
    "inputs.files|selectattr('__class__')|list",
    "inputs.files|join(attribute='__doc__')",
    "(inputs.files|map('upper')).gi_frame",
    "open('/etc/passwd').read()",
    "__import__('os')",
    "prompt|tojson",
    "prompt|pprint",
    "prompt|xmlattr",
    "loop.__class__",
    "_expressed(1)",
    "1|_counted",
    "prompt.encode().decode.__self__.__class__",
)
BLOCKS: Final = (
    "{% import 'os' as os %}",
    "{% from 'os' import system %}",
    "{% include '/etc/passwd' %}",
    "{% include '../../secret' %}",
    "{% extends '/etc/passwd' %}",
    "{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}",
    "{% call x() %}{% endcall %}",
    "{% filter upper %}x{% endfilter %}",
    "{% set x %}{{ prompt }}{% endset %}",
    "{% block a %}{{ self.a() }}{% endblock %}",
    "{% debug %}",
    "{% do inputs.files.append('x') %}",
    "{% autoescape true %}{{ prompt.__html__ }}{% endautoescape %}",
    "{% with x = prompt.__class__ %}{{ x }}{% endwith %}",
    "{% set ns = namespace(x=1) %}{{ ns.__class__ }}",
)
HUGE: Final = {
    "a product of a text": "'a' * 10**9",
    "a product of a list": "[0] * 10**9",
    "a power of a power": "9**9**9**9",
    "a power with a long number": "(10**300)**300",
    "a shift by multiplication": "2**255 * 2**255",
    "a text from a format": "'%1000000000d' % 1",
    "a text of a format's own": "'{:>1000000000}'.format('a')",
    "a text that is padded": "'a'.ljust(10**9)",
    "a text that is centred": "'a'.center(10**9)",
    "a text that is filled": "'a'.zfill(10**9)",
    "a text with wide tabs": "'\\t'.expandtabs(10**9)",
    "a text that is replaced in itself": "inputs.text|replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa')",
    "a text that is replaced by its method": "inputs.text.replace('a', 'a' * 1)",
    "replaced everywhere, also between": "inputs.text|replace('', 'bbbbbbbbbb')",
    "a text that is indented": "inputs.text|indent(10**9, true)",
    "every line indented": "(inputs.text|replace('a', '\\n'))|indent(10000)",
    "a list that is joined": "inputs.numbers|join('a' * 1000)",
    "a list joined with a long text": "inputs.numbers|join(inputs.text)",
    "texts put together": "inputs.text ~ inputs.text",
    "texts added": "inputs.text + inputs.text",
    "a long range": "range(10**9)|list",
    "a long range that is counted": "range(10**8)|length",
    "a long range that is joined": "range(100000)|join(inputs.text)",
    "a long range that is sorted": "range(99999)|sort(reverse=true)|list|sort|list|sort",
    "ranges in ranges": "range(99999)|map('string')|map('length')|list|sort|map('upper')|list",
    "a long number of a text": "('9' * 1)|int + (inputs.text|replace('a', '9'))|int",
    "a number in another base": "(inputs.text|replace('a', 'f'))|int(0, 16)",
    "unique of a long text": "inputs.text|unique|list|length",
    "a text as a list, again and again": (
        "(inputs.text|list + inputs.text|list)|map('upper')|list|map('lower')|list"
    ),
    "slices of slices": "[inputs.text[1:], inputs.text[2:], inputs.text[3:], inputs.text[4:], inputs.text[5:],"
    " inputs.text[6:], inputs.text[7:], inputs.text[8:], inputs.text[9:], inputs.text[10:]]|length",
    "a thousand comparisons of a long text": " and ".join(["inputs.text == inputs.text[:-1] ~ 'a'"] * 1000),
    "a thousand searches in a long text": " or ".join(["'b' in inputs.text"] * 4000),
    "a very long expression": "1" + " + 1" * 50_000,
    "a very long chain": "prompt" + "|upper" * 20_000,
    "very deep brackets": "(" * 5_000 + "1" + ")" * 5_000,
    "very deep lists": "[" * 5_000 + "]" * 5_000,
    "a very long condition": " and ".join(["true"] * 20_000),
}
LOOPS: Final = {
    "a loop of a million turns": "{% for x in range(99999) %}{% for y in range(99999) %}x{% endfor %}{% endfor %}",
    "a loop without a text": "{% for x in range(99999) %}{% for y in range(99999) %}{% endfor %}{% endfor %}",
    "a loop that makes a text": "{% for x in range(99999) %}{{ inputs.text }}{% endfor %}",
    "a loop that makes a text and drops it": (
        "{% for x in range(99999) %}{% set y = inputs.text|upper %}{% endfor %}"
    ),
    "a loop that sorts": "{% for x in range(99999) %}{% set y = inputs.numbers|sort %}{% endfor %}",
    "a loop that compares": "{% for x in range(99999) %}{% if inputs.text == inputs.text[1:] %}{% endif %}{% endfor %}",
    "a loop that searches": "{% for x in range(99999) %}{% if 'b' in inputs.text %}{% endif %}{% endfor %}",
    "a loop in itself": ("{% for x in inputs.numbers recursive %}{{ loop(inputs.numbers) }}{% endfor %}"),
    "a loop with a condition": "{% for x in range(9999999) if x == -1 %}{% endfor %}",
    "loops twenty deep": "{% for x in range(9) %}" * 20 + "x" + "{% endfor %}" * 20,
    "conditions 5,000 deep": "{% if true %}" * 5_000 + "x" + "{% endif %}" * 5_000,
    "20,000 places": "{{ prompt|upper }}" * 20_000,
    "1 MB of opening braces": "{{" * 500_000,
    "1 MB of opening comments": "{#" * 500_000,
    "1 MB of blanks in a block": "{%" + " " * 1_000_000 + "%}",
    "60 KB of open texts": "{{ '" + "\\'" * 30_000,
}


def refused(template: str) -> str:
    """Render a template; return the error, or an empty text."""
    try:
        text = render_task(template, VALUES)
    except InvalidDefinition as error:
        reason = str(error)
        assert len(reason) < 2_000
    else:
        reason = ""
        assert len(text) <= 2_200_000
    return reason


@pytest.mark.parametrize("expression", ESCAPES)
def test_an_expression_reaches_nothing_of_python(expression: str) -> None:
    assert refused("{{ " + expression + " }}")
    with pytest.raises(InvalidDefinition):
        evaluate(expression, VALUES)
    assert VALUES["inputs"]["files"] == ["a.py", "b.py"]
    assert VALUES["inputs"]["name"] == "Ada"


@pytest.mark.parametrize("template", BLOCKS)
def test_a_block_that_could_load_or_call_something_is_refused(template: str) -> None:
    assert refused(template)


@pytest.mark.parametrize("name", HUGE)
def test_an_expression_that_makes_too_much_ends(name: str) -> None:
    refused("{{ " + HUGE[name] + " }}")
    try:
        evaluate(HUGE[name], VALUES)
    except InvalidDefinition as error:
        assert len(str(error)) < 2_000


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_a_template_that_takes_too_long_is_refused(name: str) -> None:
    refused(LOOPS[name])


def test_many_templates_of_one_value_take_no_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def later() -> float:
        nonlocal looks
        looks += 1
        return looks / 1000

    monkeypatch.setattr(time, "thread_time", later)
    one = "{% for x in range(999) %}{% endfor %}"
    with pytest.raises(InvalidDefinition, match="filling in all templates takes more than 5 s"):
        render_value([one] * 100, VALUES)
    assert looks / 1000 < LIMITS.filling_all_seconds + LIMITS.filling_seconds
