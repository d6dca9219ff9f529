"""Machines that tests use."""

from __future__ import annotations

__all__ = ["SMALL"]

SMALL = """\
# A small one
: always
* to first:
  Do the *first* thing.

: there is more to do
first to second:
  Do the second thing.

: all is done
first to *: Say good bye.

: once more
second to first

second to *
"""
"""Two states with a loop; both may end it."""
