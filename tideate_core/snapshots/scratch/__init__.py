"""Scratch copies of a project: overlays at its own path, or real copies, and what was changed in them."""
