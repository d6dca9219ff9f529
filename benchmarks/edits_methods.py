"""Methods that apply a model's answer to files: tideate's, and common ones of other tools.

All but tideate's get the edits parsed, so that only the finding of places is compared; what cannot be
parsed counts as refused by all of them.
"""

from __future__ import annotations

import importlib
import logging
import tempfile
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from benchmarks.edits_peers import PEERS, PeerRefused
from tideate_core.edits.formats.detection import read_edits, read_files
from tideate_core.edits.resolve import resolve_files, resolve_text
from tideate_core.errors import TideateError, UnusableAnswer
from tideate_core.workspace import Document
from tideate_core.workspace.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.edits_corpus import Case
    from tideate_core.edits.formats.file_edits import Part

OURS: Final = "tideate"
ALIKE: Final = 0.8
"""The ratio from which tools that match by similarity take a place."""


class Refused(Exception):
    """A method refused an answer; the message is for the model."""


Result: TypeAlias = dict[str, bytes]
Method: TypeAlias = Callable[["Case"], Result | None]
"""Returns the files' new bytes, None where it does not know the form; raises `Refused`."""


def ours(case: Case) -> Result:
    """All as in a workflow, up to the bytes that would be written."""
    documents = {path: Document.decode(data) for path, data in case.files.items()}
    try:
        if len(documents) > 1:
            texts = {path: document.text for path, document in documents.items()}
            changes = resolve_files(case.answer, texts.get).changes
            new = {change.path: change.after or "" for change in changes}
        else:
            ((path, document),) = documents.items()
            done = resolve_text(case.answer, document.text, path=path, language=language_of(path))
            new = {path: "\n".join(done.lines)}
    except UnusableAnswer as error:
        raise Refused(str(error)) from error
    return {path: document.encode(new.get(path)) for path, document in documents.items()}


def _by_parts(
    case: Case, find: Callable[[list[str], tuple[str, ...], int], int], *, in_order: bool
) -> Result:
    """Apply parts in order, each to the result of the earlier ones."""
    result: Result = {}
    for path, lines, parts in _parsed(case):
        at = 0
        for part in parts:
            search, new = part.readings[0]
            place = find(lines, search, at if in_order else 0)
            lines[place : place + len(search)] = new
            at = place + len(new)
        result[path] = Document.decode(case.files[path]).encode("\n".join(lines))
    return {**case.files, **result}


def _parsed(case: Case) -> list[tuple[str, list[str], Sequence[Part]]]:
    try:
        edits = read_edits(case.answer) or read_files(case.answer)
    except TideateError as error:
        raise Refused(str(error)) from error
    found: list[tuple[str, list[str], Sequence[Part]]] = []
    for edit in edits:
        path = edit.path or next(iter(case.files))
        if path not in case.files:
            raise Refused(f"{path} does not exist")
        old = Document.decode(case.files[path]).text.split("\n")
        found.append((path, old if edit.text is None else list(edit.text), edit.parts))
    return found


def first_match(case: Case) -> Result:
    """The first place that fits, as tools of `apply_patch` do: exactly, else but for blanks at the edges."""
    return _by_parts(case, _first, in_order=case.form != "search/replace")


def _first(lines: list[str], search: tuple[str, ...], at: int) -> int:
    for same in (str, str.rstrip, str.strip):
        keys, texts = [same(line) for line in search], [same(line) for line in lines]
        for place in range(at, len(lines) - len(search) + 1):
            if texts[place : place + len(search)] == keys:
                return place
    raise Refused("the lines to search are not in the file")


def most_alike(case: Case) -> Result:
    """The first place that fits exactly, else the most similar one, if `difflib` gives it 0.8."""
    return _by_parts(case, _alike, in_order=False)


def _alike(lines: list[str], search: tuple[str, ...], at: int) -> int:
    size = len(search)
    places = range(at, len(lines) - size + 1)
    exact = next((place for place in places if tuple(lines[place : place + size]) == search), None)
    if exact is not None:
        return exact
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2("\n".join(search))
    best, found = ALIKE, -1
    for place in places:
        matcher.set_seq1("\n".join(lines[place : place + size]))
        if matcher.real_quick_ratio() >= best and matcher.quick_ratio() >= best and matcher.ratio() >= best:
            best, found = matcher.ratio(), place
    if found < 0:
        raise Refused("no lines of the file are similar enough")
    return found


def patch_ng(case: Case) -> Result | None:
    """patch-ng, a library of unified diffs: it goes by their line numbers."""
    if case.form != "diff":
        return None
    library: Any = importlib.import_module("patch_ng")
    logging.getLogger("patch_ng").disabled = True
    text = case.answer.partition("```diff\n")[2].partition("\n```")[0] + "\n"
    with tempfile.TemporaryDirectory() as folder:
        for path, data in case.files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        parsed = library.fromstring(text.encode())
        if not parsed or not parsed.apply(root=folder):
            raise Refused("patch-ng refuses it")
        return {path: Path(folder, path).read_bytes() for path in case.files}


def _peer(method: Method) -> Method:
    def run(case: Case) -> Result | None:
        try:
            return method(case)
        except PeerRefused as error:
            raise Refused(str(error)) from error

    return run


METHODS: Final[dict[str, Method]] = {
    OURS: ours,
    "the first match wins": first_match,
    "the most similar wins (difflib)": most_alike,
    "patch-ng": patch_ng,
    **{name: _peer(method) for name, method in PEERS.items()},
}
