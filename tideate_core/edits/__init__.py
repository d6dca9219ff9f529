"""Located edits from a model's answer: parsed, matched and resolved against the current files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.edits.fences import (
        fence_for as fence_for,
        fenced_blocks as fenced_blocks,
        is_fence as is_fence,
    )
    from tideate_core.edits.formats.code import extract_code as extract_code
    from tideate_core.edits.formats.file_edits import Part as Part, path_in as path_in
    from tideate_core.edits.matching.insertion import Insertion as Insertion, insertion_of as insertion_of
    from tideate_core.edits.matching.placement import (
        fit_to_place as fit_to_place,
        fit_to_range as fit_to_range,
        trim_neighbours as trim_neighbours,
    )
    from tideate_core.edits.matching.preservation import common_edges as common_edges
    from tideate_core.edits.matching.replacement import (
        Location as Location,
        Replacement as Replacement,
        apply_parts as apply_parts,
        find_clash as find_clash,
    )
    from tideate_core.edits.placeholders import find_placeholder as find_placeholder
    from tideate_core.edits.resolve import (
        NO_CHANGE as NO_CHANGE,
        resolve_files as resolve_files,
        resolve_part as resolve_part,
        resolve_text as resolve_text,
        says_no_change as says_no_change,
    )
    from tideate_core.edits.streamed import streamed_hunks as streamed_hunks
else:
    __getattr__, __dir__, __all__ = exports(__name__)
