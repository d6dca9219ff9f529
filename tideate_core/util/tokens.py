"""Estimates of tokens by characters, where no tokenizer is at hand."""

from __future__ import annotations

from typing import Final

__all__ = ["CHARACTERS_PER_TOKEN", "FEWEST_CHARACTERS_PER_TOKEN"]

CHARACTERS_PER_TOKEN: Final = 4
"""English prose has about four, code a little less. Material and costs are counted by it."""
FEWEST_CHARACTERS_PER_TOKEN: Final = 3
"""On the careful side, for what has to fit a model's window: code takes more tokens than prose."""
