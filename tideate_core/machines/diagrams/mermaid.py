"""Draw a diagram as source text for Mermaid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tideate_core.machines.diagrams.labels import cut, one_line
from tideate_core.machines.diagrams.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.machines.diagrams.model import Diagram, Node

LONGEST: Final = 60
"""Maximum label length: longer labels push nodes apart."""

# Mermaid's parser ends a label at `:` and `;`, and its renderer reads the rest as HTML and Markdown. A line
# with `direction LR` anywhere in it is a statement, and so is a comment that begins inside a line.
_UNSAFE: Final = re.compile(
    r"""["#%&*+:;<=>@\[\\\]^`{|}~$-]|(?<![^\W_])_|_(?![^\W_])|(?<=\d)[.)]|(?<=direction )[tblr]""",
    re.IGNORECASE,
)


def draw_mermaid(diagram: Diagram) -> str:
    """Draw as a `stateDiagram-v2`, or as a `flowchart` with a subgraph for each batch.

    Nodes have aliases, because a state may be named `end`.
    """
    ids = _ids(diagram)
    lines = list(_batches(diagram, ids) if diagram.batches else _states(diagram, ids))
    for source, target, label in diagram.edges:
        text = _mermaid(cut(one_line(label), LONGEST))
        arrow = f"    {ids[source]} --> {ids[target]}"
        lines.append(f"{arrow} : {text}" if text else arrow)
    if diagram.current is not None and diagram.nodes[diagram.current].kind is Kind.NODE:
        lines += ["    classDef current stroke-width:4px", f"    class {ids[diagram.current]} current"]
    return "\n".join(lines) + "\n"


def _ids(diagram: Diagram) -> list[str]:
    first = sum(node.kind is Kind.ENTRY for node in diagram.nodes)
    return [f"s{at - first}" if node.kind is Kind.NODE else "[*]" for at, node in enumerate(diagram.nodes)]


def _states(diagram: Diagram, ids: list[str]) -> Iterator[str]:
    yield "stateDiagram-v2"
    for at, node in enumerate(diagram.nodes):
        if node.kind is Kind.NODE:
            yield f'    state "{_mermaid(node.name)}" as {ids[at]}'


def _batches(diagram: Diagram, ids: list[str]) -> Iterator[str]:
    yield "flowchart TD"
    for place, batch in enumerate(diagram.batches, 1):
        yield f'    subgraph b{place}["{place}"]'
        for at in batch:
            yield f'        {ids[at]}["{"<br/>".join(map(_mermaid, _lines(diagram.nodes[at])))}"]'
        yield "    end"


def _lines(node: Node) -> list[str]:
    details = (cut(one_line(line), LONGEST) for line in node.details)
    return [one_line(node.name), *filter(None, details)]


def _mermaid(text: str) -> str:
    """Return a text escaped as a Mermaid label."""
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", one_line(text))
