"""Limits on reading, checking and rendering definitions, which may be hostile.

Limits of output schemas are in `tideate_core/util/json_schemas.py`. Times are processor time of one thread,
so that a slow disk or a busy machine rejects nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DefinitionLimits:
    """Limits of definitions; workflows written by people stay far below all of them."""

    # files
    read_seconds: float = 4.0
    """Time to read one YAML file."""
    check_seconds: float = 2.0
    """Time to check one definition: names, templates and schemas."""
    steps: int = 5_000
    """Steps of one definition."""
    dependencies: int = 20_000
    """Dependencies of one definition."""

    # templates and expressions
    template_characters: int = 64 * 1024
    """Length of one template or expression."""
    filling_seconds: float = 2.0
    """Time to render one template."""
    filling_all_seconds: float = 5.0
    """Time to render all templates of one value, such as a tool's arguments."""
    text_characters: int = 1024 * 1024
    """Characters that a template may add to its values."""
    made_texts: int = 8
    """Total of all intermediate texts, as a multiple of the largest text."""
    loop_turns: int = 100_000
    """Iterations of all loops of a template."""
    list_items: int = 2_000_000
    """Items of all intermediate lists of a template."""
    number_bits: int = 256
    """Bits of a product or power."""
    number_digits: int = 400
    """Length of a text that is converted to a number."""

    loop_items: int = 10_000
    """Items of one `for_each`."""


LIMITS: Final = DefinitionLimits()
