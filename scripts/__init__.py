"""Commands of the Makefile."""
