"""Guarded copies: stable private views of a project in which foreign programs work."""
