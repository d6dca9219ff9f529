"""The drawing as a Mermaid state diagram."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tideate_core.machines.language.diagrams.words import cut, one_line
from tideate_core.machines.language.model import BOUNDARY

if TYPE_CHECKING:
    from tideate_core.machines.language.model import MachineDefinition

__all__ = ["draw_mermaid", "escaped"]

LONGEST: Final = 60
"""Longer labels make the drawing unreadable."""

# Mermaid's parser ends a label at `:` and `;`, and its renderer takes the rest for HTML and Markdown. A line
# that says `direction LR` anywhere is a statement, and so is a comment that begins in it.
_UNSAFE: Final = re.compile(
    r"""["#%&*+:;<=>@\[\\\]^`{|}~$-]|(?<![^\W_])_|_(?![^\W_])|(?<=\d)[.)]|(?<=direction )[tblr]""",
    re.IGNORECASE,
)


def draw_mermaid(definition: MachineDefinition, current: str | None) -> str:
    """Draw as `stateDiagram-v2`; states have aliases, as a state may be called `end`."""
    ids = {name: f"s{at}" for at, name in enumerate(definition.states)} | {BOUNDARY: "[*]"}
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{escaped(name)}" as {ids[name]}' for name in definition.states]
    for source, transitions in definition.outgoing.items():
        for transition in transitions:
            label = escaped(cut(one_line(transition.when), LONGEST))
            arrow = f"    {ids[source]} --> {ids[transition.target]}"
            lines.append(f"{arrow} : {label}" if label else arrow)
    if current is not None and current != BOUNDARY:
        lines += ["    classDef current stroke-width:4px", f"    class {ids[current]} current"]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return a text as a label of Mermaid's has it."""
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", one_line(text))
