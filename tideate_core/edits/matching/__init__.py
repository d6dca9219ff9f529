"""Find the place of an edit in a text and fit the new lines to it."""
