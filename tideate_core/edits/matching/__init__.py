"""Matching of an edit's lines in a text, and fitting of the new lines to their place."""
