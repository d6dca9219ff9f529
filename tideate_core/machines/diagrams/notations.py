"""Draw a diagram as source text for Mermaid or Graphviz DOT."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tideate_core.machines.diagrams.labels import cut, one_line
from tideate_core.machines.diagrams.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.machines.diagrams.model import Diagram, Node

LONGEST: Final = 60
"""Maximum label length: longer labels push nodes apart; in DOT the tooltip has the full text."""

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
    ids = _ids(diagram, "[*]", "[*]")
    lines = list(_batches(diagram, ids) if diagram.batches else _states(diagram, ids))
    for source, target, label in diagram.edges:
        text = _mermaid(cut(one_line(label), LONGEST))
        arrow = f"    {ids[source]} --> {ids[target]}"
        lines.append(f"{arrow} : {text}" if text else arrow)
    if diagram.current is not None and diagram.nodes[diagram.current].kind is Kind.NODE:
        lines += ["    classDef current stroke-width:4px", f"    class {ids[diagram.current]} current"]
    return "\n".join(lines) + "\n"


def draw_dot(diagram: Diagram) -> str:
    """Draw as a `digraph`: the entry is a point, the exit a double circle; a batch shares one rank."""
    ids = _ids(diagram, "entry", "exit")
    lines = [
        f"digraph {_dot(diagram.name)} {{",
        "    rankdir=TB;",
        '    node [shape=box, style=rounded, fontname="sans-serif"];',
        '    edge [fontname="sans-serif", fontsize=10];',
    ]
    reached = set(diagram.reached)
    for at, node in enumerate(diagram.nodes):
        looks = _looks(node, reached=at in reached, current=at == diagram.current)
        lines.append(f"    {ids[at]} [{', '.join(looks)}];")
    rows = (" ".join(f"{ids[at]};" for at in batch) for batch in diagram.batches)
    lines += [f"    {{ rank=same; {row} }}" for row in rows]
    for source, target, label in diagram.edges:
        text = one_line(label)
        attributes = f" [label={_dot(cut(text, LONGEST))}, tooltip={_dot(text)}]" if text else ""
        lines.append(f"    {ids[source]} -> {ids[target]}{attributes};")
    return "\n".join([*lines, "}"]) + "\n"


def _ids(diagram: Diagram, entry: str, end: str) -> list[str]:
    signs = {Kind.ENTRY: entry, Kind.EXIT: end}
    first = sum(node.kind is Kind.ENTRY for node in diagram.nodes)
    return [signs.get(node.kind, f"s{at - first}") for at, node in enumerate(diagram.nodes)]


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


def _looks(node: Node, *, reached: bool, current: bool) -> list[str]:
    """Return a node's attributes in DOT."""
    if node.kind is Kind.ENTRY:
        return ["shape=point", "width=0.15", 'tooltip="entry"']
    if node.kind is Kind.EXIT:
        look = ['label=""', "width=0.15", "style=filled", "fillcolor=black", 'tooltip="exit"']
        return ["shape=doublecircle", *look]
    # the newline is a DOT escape, which must not be escaped again
    label = r"\n".join(_dot(line)[1:-1] for line in _lines(node))
    looks = [f'label="{label}"']
    if not reached:
        looks.append('style="rounded,dashed"')
    if current:
        looks.append("penwidth=3")
    return [*looks, f"tooltip={_dot(node.tooltip)}"]


def _lines(node: Node) -> list[str]:
    details = (cut(one_line(line), LONGEST) for line in node.details)
    return [one_line(node.name), *filter(None, details)]


def _mermaid(text: str) -> str:
    """Return a text escaped as a Mermaid label."""
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", one_line(text))


def _dot(text: str) -> str:
    """Return a text as a quoted DOT string."""
    plain = one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'
