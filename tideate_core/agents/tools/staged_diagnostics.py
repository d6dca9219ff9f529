"""Language servers' new diagnostics of staged edits, reported with the errors of `edit_report`."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field

from tideate_core.agents.tools.edit_report import check_changes
from tideate_core.agents.tools.editor_queries import ask, one_line
from tideate_core.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.workspace import FileChange

LIMIT: Final = 10.0
"""Seconds; at first a server has to start and to read the project."""
MOST_FILES: Final = 5
"""Files of an edit that are checked."""
MOST_NEW: Final = 10
"""Diagnostics listed in a result."""
LONGEST_TEXT: Final = 512 * 1024
"""Characters of a checked text; more would block the editor."""
LONGEST_STAGED: Final = 1024 * 1024
"""Characters of the other staged texts that are sent to the servers."""
_SEVERITIES: Final = {1: "error", 2: "warning"}
"""Reported severities; less severe diagnostics are a matter of taste."""


class _Diagnostic(BaseModel):
    line: int
    """0-based."""
    severity: int
    message: str
    source: str
    code: str


class _File(BaseModel):
    path: str
    before: list[_Diagnostic] = Field(default_factory=list)
    after: list[_Diagnostic]


class _Answer(BaseModel):
    client: str
    files: list[_File]


class _Answers(BaseModel):
    answers: list[_Answer]
    errors: list[str]


async def report_changes(context: ToolContext, changes: Sequence[FileChange]) -> tuple[str, list[str]]:
    """Return new errors and diagnostics of staged changes.

    :returns: the end of the summary line, and lines of their own.
    """
    checked = await check_changes(context.staged, changes)
    if checked.errors:  # a server would report the same errors, and their consequences
        return checked.word, checked.lines
    word, lines = await _new_diagnostics(context, changes)
    return f"{checked.word}{word}", [*checked.lines, *lines]


async def _new_diagnostics(context: ToolContext, changes: Sequence[FileChange]) -> tuple[str, list[str]]:
    root, looked_at = context.step.workspace.root, [one for one in changes if _fits(one)][:MOST_FILES]
    if context.step.editor is None or root is None or not looked_at:
        return "", []
    try:
        found = await ask(
            context, "staged_diagnostics", _query(context, root, looked_at), _Answers, limit=LIMIT
        )
    except ToolError as error:
        return "", [f"[no diagnostics of the staged text: {one_line(str(error))}]"]
    texts = {str(root / (one.move_to or one.path)): one for one in looked_at}
    new, doubtful = _all_new(found, texts, _unwritten(context))
    several = len(changes) > 1
    lines = [_line(one, client, change if several else None) for one, client, change in new[:MOST_NEW]]
    if len(new) > MOST_NEW:
        lines.append(f"[{len(new) - MOST_NEW} more new diagnostics are left out]")
    if doubtful:
        lines.append(
            f"[{doubtful} more that name a file which is only staged: language servers look for it on disk]"
        )
    lines += [f"[{one_line(error)}]" for error in found.errors]
    clients = ", ".join(one_line(answer.client, 40) for answer in found.answers)
    total = sum(one.after is not None for one in changes)
    where = f" in {len(looked_at)} of {total} files" if total > len(looked_at) else ""
    if clients and not (new or doubtful):
        return f"; no new diagnostics{where} ({clients})", lines
    return "", [*lines, f"[diagnostics were checked{where} only]"] if clients and where else lines


def _all_new(
    found: _Answers, texts: Mapping[str, FileChange], unwritten: re.Pattern[str] | None
) -> tuple[list[tuple[_Diagnostic, str, FileChange]], int]:
    """Return the new diagnostics, the worst first, with their servers, and the number of doubtful ones.

    :param texts: changes by absolute path.
    :param unwritten: pattern for names of files that are only staged, which servers do not find on disk.
    """
    new, doubtful = [], 0
    for answer in found.answers:
        for file in answer.files:
            change = texts.get(file.path)
            for one in _new(file, change) if change else ():
                words = f"{one.message}\n{_text_of(one, change.after if change else None)}"
                if unwritten is not None and unwritten.search(words):
                    doubtful += 1
                elif change:
                    new.append((one, answer.client, change))
    new.sort(key=lambda entry: (entry[0].severity, entry[2].path, entry[0].line))
    return new, doubtful


def _fits(change: FileChange) -> bool:
    texts = (change.before or "", change.after or "")
    return change.after is not None and max(map(len, texts)) <= LONGEST_TEXT


def _query(context: ToolContext, root: Path, changes: Sequence[FileChange]) -> dict[str, Any]:
    own = {path for one in changes for path in (one.path, one.move_to) if path}
    others, left = [], LONGEST_STAGED
    for path, text in context.staged.changed_texts().items():
        if path not in own and text is not None and len(text) <= min(left, LONGEST_TEXT):
            left -= len(text)
            others.append({"path": str(root / path), "text": _as_file(text)})
    files = []
    for one in changes:
        file = {"path": str(root / one.path), "to": str(root / (one.move_to or one.path))}
        before = {} if one.before is None else {"before": _as_file(one.before)}
        files.append({**file, **before, "after": _as_file(one.after or "")})
    return {"run": context.step.execution_id, "files": files, "staged": others}


def _as_file(text: str) -> str:
    return f"{text}\n" if text else ""


def _new(file: _File, change: FileChange) -> Iterable[_Diagnostic]:
    """Yield diagnostics that the text before did not have on an equal line."""
    known = Counter((one.message, one.code, _text_of(one, change.before)) for one in file.before)
    for one in file.after:
        key = one.message, one.code, _text_of(one, change.after)
        if known[key]:
            known[key] -= 1
        elif one.severity in _SEVERITIES:
            yield one


def _text_of(one: _Diagnostic, text: str | None) -> str:
    lines = (text or "").split("\n")
    return lines[one.line].strip() if 0 <= one.line < len(lines) else ""


def _line(one: _Diagnostic, client: str, change: FileChange | None) -> str:
    place = f" in {change.move_to or change.path}" if change else ""
    by = one_line(" ".join(dict.fromkeys(filter(None, (one.source or client, one.code)))), 100)
    kind, message = _SEVERITIES[one.severity], one_line(one.message, 500)
    return f"[new {kind}{place} at line {one.line + 1}: {message} ({by})]"


def _unwritten(context: ToolContext) -> re.Pattern[str] | None:
    """Return a pattern for the names of modules that are only staged; None if there are none."""
    paths = (one.move_to or one.path for one in context.staged.changes() if one.action in ("create", "move"))
    names = {_module(path) for path in paths}
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b") if names else None


def _module(path: str) -> str:
    """Return the name that imports use for a file: `more` for `shop/more.py` and `more/index.ts`."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0] or name
    return folders[-1] if folders and stem in ("__init__", "index", "mod") else stem
