"""Context of a step, as its handler sees it."""
