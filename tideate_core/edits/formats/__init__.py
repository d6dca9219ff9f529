"""Formats of edits in a model's answer."""
