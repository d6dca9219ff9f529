"""Scratch copies of a project: overlays at its own path or real copies, and the changes in them."""
