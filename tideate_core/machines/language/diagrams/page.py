"""What every SVG of ours is drawn on: it needs no script, no font and no other style sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["page"]

_STYLE: Final = """
.tideate { color: #1f2328; font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.tideate .paper { fill: #ffffff; }
.tideate text { fill: currentColor; white-space: pre; }
.tideate .title { font-weight: bold; }
.tideate .box { fill: currentColor; fill-opacity: .04; stroke: currentColor; stroke-width: 1.2; }
.tideate .current { fill-opacity: .14; stroke-width: 3; }
.tideate .line { fill: none; stroke: currentColor; stroke-width: 1.2; }
.tideate .head { fill: currentColor; }
@media (prefers-color-scheme: dark) {
  .tideate { color: #e6edf3; }
  .tideate .paper { fill: #0d1117; }
}
"""


def page(name: str, width: float, height: float, style: str, parts: Iterable[str]) -> str:
    """Return a whole SVG, in light and dark.

    :param name: for screen readers.
    :param width: pixels, as `height`.
    :param style: CSS of what this drawing has beside boxes, lines and titles.
    :param parts: its elements, the lowest first.
    """
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tideate" role="img" {size}>',
        f"<title>{escape(name)}</title>",
        f"<style>{_STYLE}{style}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"
