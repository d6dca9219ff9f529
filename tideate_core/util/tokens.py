"""Estimates of token counts by characters, for use without a tokenizer."""

from __future__ import annotations

from typing import Final

CHARACTERS_PER_TOKEN: Final = 4
"""About four in English prose, slightly fewer in code. Used for material and costs."""
FEWEST_CHARACTERS_PER_TOKEN: Final = 3
"""Conservative value for content that has to fit a model's window: code needs more tokens than prose."""
