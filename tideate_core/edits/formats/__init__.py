"""Formats of edits in a model's answer, parsed into edits of files."""
