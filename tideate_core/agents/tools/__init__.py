"""Tools of the work loop: reading, staged edits, checks."""
