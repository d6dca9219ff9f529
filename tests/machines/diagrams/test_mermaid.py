"""Mermaid diagrams: all edges and texts, escaped."""

from __future__ import annotations

import re

import pytest

from tests.machines.diagrams.machines import machine
from tideate_core.machines.language import MachineDefinition, draw

# what Mermaid's own grammar takes: a label has no `:`, `;` or line end in it, entities are decoded before
MERMAID = re.compile(
    r'    state "(?P<label>[^"\n]*)" as (?P<alias>s\d+)'
    r"|    (?P<source>s\d+|\[\*\]) --> (?P<target>s\d+|\[\*\])(?: : (?P<when>[^:;\n]+))?"
    r"|    classDef current [a-z:0-9-]+|    class s\d+ current"
)
HOSTILE = [
    "a: b; c # d %% comment --> x",
    'say "yes" {now} [*] <b>bold</b> <script>alert(1)</script>',
    "direction LR",
    "line\nbreak\\n",
    "1. first - *second* _third_ `fourth` $$x$$",
    "style x:#fff; end note",
    "日本語 — «é»",
]
KEYWORDS = ["end", "state", "class", "note", "default", "direction", "classDef", "fork", "as", "style", "_x_"]


def decoded(text: str) -> str:
    return re.sub(r"⟪(\d+)⟫", lambda match: chr(int(match[1])), text)


def pairs_of(definition: MachineDefinition) -> list[tuple[str, str]]:
    return [(each.source, each.target) for row in definition.outgoing.values() for each in row]


@pytest.mark.parametrize("when", [*HOSTILE, ""])
def test_mermaid_keeps_every_edge_and_every_word(when: str) -> None:
    definition = machine("* > end", *(f"end > {word}: {when}" for word in KEYWORDS), "end > *")
    first, *lines = draw(definition, "mermaid", current="state").splitlines()
    assert first == "stateDiagram-v2"
    found = [MERMAID.fullmatch(re.sub(r"#(\d+);", r"⟪\1⟫", line)) for line in lines]
    assert all(found), lines
    parts = [each.groupdict() for each in found if each]
    names = {each["alias"]: decoded(each["label"]) for each in parts if each["alias"]} | {"[*]": "*"}
    edges = [each for each in parts if each["source"]]
    assert [(names[each["source"]], names[each["target"]]) for each in edges] == pairs_of(definition)
    assert {decoded(each["when"] or "") for each in edges} == {"", " ".join(when.split())}
    # these make a statement, a comment or a broken entity of any line that they are in
    assert not re.search(r"direction\s+(TB|BT|LR|RL)|%%|style.*:\S*#.*;", "\n".join(lines), re.IGNORECASE)


def test_long_labels_are_shortened() -> None:
    definition = machine("* > a", "a > *: " + "very " * 100)
    assert max(map(len, draw(definition, "mermaid").splitlines())) < 90
