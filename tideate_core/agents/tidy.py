"""What models write, made fit to be shown: their texts stand in terminals and documents."""

from __future__ import annotations

__all__ = ["tidy_line", "tidy_path", "tidy_text"]


def tidy_text(text: str) -> str:
    """Return a text without control characters but line ends, and without blanks around it."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("".join(c if c.isprintable() else " " for c in line).rstrip() for line in lines).strip()


def tidy_line(text: str) -> str:
    """Return a text as one line."""
    return " ".join(tidy_text(text).split())


def tidy_path(path: str) -> str:
    """Return a path as a workspace names it; one that leads elsewhere still does."""
    one = tidy_line(path).strip("`\"'")
    while one.startswith("./"):
        one = one[2:].lstrip("/")
    return one
