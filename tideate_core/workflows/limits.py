"""Limits of reading, checking and filling in definitions, which may be hostile.

Those of the schemas of outputs are in `tideate_core/util/json_schemas.py`. Times are of the processor and of
one thread, so that a slow disk or a busy machine refuses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["LIMITS", "DefinitionLimits"]


@dataclass(frozen=True, slots=True)
class DefinitionLimits:
    """Bounds of definitions; a workflow that a person wrote stays far below all of them."""

    # files
    read_seconds: float = 4.0
    """For reading one file of YAML."""
    check_seconds: float = 2.0
    """For checking one definition: its names, templates and schemas."""
    steps: int = 5_000
    """Of one definition."""
    dependencies: int = 20_000
    """Dependencies of one definition."""

    # templates and expressions
    template_characters: int = 64 * 1024
    """Of one template or expression that is filled in."""
    filling_seconds: float = 2.0
    """For filling in one template."""
    filling_all_seconds: float = 5.0
    """For filling in all templates of one value, as of a tool's arguments."""
    text_characters: int = 1024 * 1024
    """That a template may make out of what it is given, and add to it."""
    made_texts: int = 8
    """Times that many characters may all texts have that are made on the way."""
    loop_turns: int = 100_000
    """Of all loops of a template together."""
    list_items: int = 2_000_000
    """Of all lists that a template makes on the way."""
    number_bits: int = 256
    """Of a product or power."""
    number_digits: int = 400
    """Of a text that is made a number."""

    loop_items: int = 10_000
    """Of one `for_each`."""


LIMITS: Final = DefinitionLimits()
