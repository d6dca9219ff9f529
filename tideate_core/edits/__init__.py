"""Model answers to located edits: formats, matching, and resolving against the files as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.edits.answer import extract_code, fit_to_range
    from tideate_core.edits.fences import fence_for, fenced_blocks, is_fence
    from tideate_core.edits.naming import path_in
    from tideate_core.edits.neighbours import trim_neighbours
    from tideate_core.edits.parts import Part
    from tideate_core.edits.placeholders import find_placeholder
    from tideate_core.edits.placing import fit_to_place
    from tideate_core.edits.replaced import Replaced
    from tideate_core.edits.replacing import apply_parts
    from tideate_core.edits.resolve import resolve_files, resolve_part, resolve_text

__all__ = [
    "Part",
    "Replaced",
    "apply_parts",
    "extract_code",
    "fence_for",
    "fenced_blocks",
    "find_placeholder",
    "fit_to_place",
    "fit_to_range",
    "is_fence",
    "path_in",
    "resolve_files",
    "resolve_part",
    "resolve_text",
    "trim_neighbours",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "answer": (
                "extract_code",
                "fit_to_range",
            ),
            "fences": (
                "fence_for",
                "fenced_blocks",
                "is_fence",
            ),
            "naming": ("path_in",),
            "neighbours": ("trim_neighbours",),
            "parts": ("Part",),
            "placeholders": ("find_placeholder",),
            "placing": ("fit_to_place",),
            "replaced": ("Replaced",),
            "replacing": ("apply_parts",),
            "resolve": (
                "resolve_files",
                "resolve_part",
                "resolve_text",
            ),
        },
    )
