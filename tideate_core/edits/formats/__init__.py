"""Parsers of the edit formats in models' answers."""
