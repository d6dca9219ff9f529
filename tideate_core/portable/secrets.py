"""Search for probable secrets in a bundle before it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, WorkspaceError
from tideate_core.git import find_repository, run_git
from tideate_core.mentions import secrets_within
from tideate_core.project import real_path
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.portable.bundle_format import Copy, Draft, Image, Record
    from tideate_core.store import RunRows

MOST_SHOWN: Final = 5
MOST_LINES: Final = 1_000
"""Maximum number of suspicious lines that are compared with the base commit."""
GIT_WITHIN: Final = 20.0
"""Maximum seconds for git to search the base commit."""


def refuse_secrets(
    root: Path,
    base: str | None,
    rows: Sequence[RunRows],
    journal: Sequence[Record | Copy],
    drafts: Sequence[Draft],
    blobs: Mapping[str, bytes],
    question: dict[str, Any] | None,
) -> None:
    """Reject a bundle with probable secrets that the base commit does not have; blocking.

    :raises InvalidInput: the message names the places.
    """
    found: dict[str, set[str]] = {}
    for place, value in [
        *_values(rows),
        *_files(journal, blobs),
        *_drafts(drafts, blobs),
        ("the question", question),
    ]:
        if lines := {line.strip() for line in secrets_within(value)}:
            found.setdefault(place, set()).update(lines)
    if not found:
        return
    known = _lines_of_base(root, base, set().union(*found.values()))
    places = [place for place, lines in found.items() if not all(_stands_in(line, known) for line in lines)]
    if places:
        more = f" and {len(places) - MOST_SHOWN} more places" if len(places) > MOST_SHOWN else ""
        raise InvalidInput(
            f"the run seems to hold secrets: {', '.join(places[:MOST_SHOWN])}{more}. Nothing was written. "
            "--with-secrets includes them, and then everyone who gets the bundle can read them"
        )


def _values(rows: Sequence[RunRows]) -> Iterator[tuple[str, Any]]:
    for one in rows:
        request = one.run["request"]
        yield "the prompt", request.get("prompt")
        yield "the inputs", request.get("inputs")
        yield "the selected text", request.get("context")
        yield "the definition", [one.definition.text, one.definition.name, one.definition.description]
        yield "the run", list(one.run.values())
        for table, rows_of in one.tables.items():
            for row in rows_of:
                yield _place(table, row), list(row.values())


def _place(table: str, row: Mapping[str, Any]) -> str:
    data = row.get("data")
    step = row.get("step_id") or (data.get("step") if isinstance(data, dict) else None)
    if step:
        return f"the step {label(str(step))}"
    return "a message" if table == "workflow_wishes" else "the conversation"


def _files(journal: Sequence[Record | Copy], blobs: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    for record in journal:
        for file in record.files:
            for image in (file.before, file.after):
                yield label(file.path), _text(image, blobs)


def _text(image: Image, blobs: Mapping[str, bytes]) -> str:
    return "" if image.blob is None else blobs[image.blob].decode("utf-8", "replace")


def _drafts(drafts: Sequence[Draft], blobs: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    for draft in drafts:
        yield "your answer to a review", blobs[draft.blob].decode("utf-8", "replace")


def _lines_of_base(root: Path, base: str | None, lines: set[str]) -> list[str]:
    """Return the lines of the base commit that are equal to suspicious ones, or to a part of one."""
    wanted = sorted(line for line in lines if line and "\n" not in line)[:MOST_LINES]
    if base is None or not wanted:
        return []
    # tools list files with line numbers, so a suspicious line may contain a line of a file
    parts = dict.fromkeys(part for line in wanted for part in (line, _without_number(line)))
    given = "\n".join(parts).encode("utf-8", "replace")
    command = ("grep", "--no-color", "-h", "-I", "-F", "-f", "-", base)
    try:
        done = run_git(find_repository(real_path(root)), *command, cwd=root, given=given, patience=GIT_WITHIN)
    except WorkspaceError:
        return []
    return [line.strip() for line in done.out.decode("utf-8", "replace").split("\n") if line.strip()]


def _without_number(line: str) -> str:
    """Return a listed line without its number, and a line of a diff without its sign."""
    head, mark, rest = line.partition("\t")
    if not mark or not head.strip().isdigit():
        head, mark, rest = line.partition("|")
    if mark and head.strip().isdigit():
        return rest.strip()
    return line.lstrip("+- ").strip() or line


def _stands_in(line: str, known: Sequence[str]) -> bool:
    return any(line in one or _without_number(line) in one for one in known)
