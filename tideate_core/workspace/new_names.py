"""Names that a workflow gives to no new file: shells, programs or people take them for something else."""

from __future__ import annotations

from tideate_core.errors import WorkspaceError

__all__ = ["refuse_wrong_name", "wrong_name"]


def refuse_wrong_name(path: str) -> None:
    """Refuse to make a file of such a name.

    :raises WorkspaceError: it is one.
    """
    if wrong := wrong_name(path):
        raise WorkspaceError(f"{path!r} is no name for a new file: {wrong}; nothing was written")


def wrong_name(path: str) -> str:
    """Return what is wrong with the name of a file that is to be made, empty if nothing is."""
    parts = path.split("/")
    if not path.isprintable():
        return "it has characters that are not seen"
    if "\\" in path:
        return "it has a backslash; folders are divided by /"
    if "://" in path:
        return "it is an address, not a file"
    if parts[0].startswith("~"):
        return "a shell takes ~ for a home"
    if dashed := next((part for part in parts if part.startswith("-")), ""):
        return f"programs take {dashed!r} for an option"
    if blank := next((part for part in parts if _is_blank_at_edge(part)), ""):
        return f"{blank!r} begins or ends with a blank, or ends with a dot"
    return ""


def _is_blank_at_edge(part: str) -> bool:
    return part != part.strip() or (part.endswith(".") and part not in (".", ".."))
