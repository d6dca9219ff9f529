"""The JSON report of jest, which vitest writes as well."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from tideate_core.process import clean
from tideate_core.toolchain.failures.failure import Failure, project_path
from tideate_core.toolchain.failures.javascript import own_frame
from tideate_core.toolchain.results.tally import Broken, Tally, told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.toolchain.results.models import TestFailure

__all__ = ["read_jest"]

_LOOKED_AT: Final = 1 << 14
"""Characters of what is said of one failure."""
_AT: Final = re.compile(r"(?:\(|\.[cm]?[jt]sx?:)(\d{1,7}):\d{1,5}\b")
"""Where a file could not be parsed: ``(1:10)`` of babel, ``a.test.ts:1:10`` of others."""
_DULL: Final = ("Test suite failed to run", "Jest encountered an unexpected token")


def read_jest(content: bytes, root: Path) -> Tally:
    """Read a report.

    :raises Broken: it is none.
    """
    try:
        report = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Broken(f"the report is no JSON: {type(error).__name__}") from error
    if not isinstance(report, dict) or not isinstance(report.get("testResults"), list):
        raise Broken("the report does not list any results")
    tally = Tally()
    for suite in _objects(report["testResults"]):
        file = _text(suite, "name")
        results = list(_objects(suite.get("assertionResults")))
        for result in results:
            _count(tally, result, file, root)
        if suite.get("status") == "failed" and all(one.get("status") != "failed" for one in results):
            tally.errors += 1
            tally.add(_of_suite(suite, file, root))
    return tally


def _count(tally: Tally, result: dict[str, Any], file: str, root: Path) -> None:
    status = result.get("status")
    if status == "passed":
        tally.passed += 1
    elif status == "failed":
        tally.failed += 1
        tally.add(_of_test(result, file, root))
    else:
        tally.skipped += 1


def _of_test(result: dict[str, Any], file: str, root: Path) -> TestFailure:
    said = result.get("failureMessages")
    stack = clean("\n".join(map(str, said[:5]))[:_LOOKED_AT]) if isinstance(said, list) else ""
    message, _, _ = stack.partition("\n    at ")
    place = _frame(stack, root)
    if place is None:
        at = result.get("location")
        line = at.get("line") if isinstance(at, dict) else None
        line = line if isinstance(line, int) else None
        place = Failure(project_path(file, root) if file else "", line, None, "")
    return told(_name(result), message or "failed", place)


def _name(result: dict[str, Any]) -> str:
    above = result.get("ancestorTitles")
    titles = [str(title) for title in above[:20]] if isinstance(above, list) else []
    return " > ".join([*titles, _text(result, "title")]) or _text(result, "fullName")


def _of_suite(suite: dict[str, Any], file: str, root: Path) -> TestFailure:
    """Return what kept a file's tests from running."""
    said = clean(_text(suite, "message")[:_LOOKED_AT])
    lines = [line.strip().removeprefix("● ") for line in said.split("\n")]
    telling = [line for line in lines if line and line not in _DULL] or ["could not be run"]
    raised = next((line for line in telling if "Error: " in line), " ".join(telling[:2]))
    name = project_path(file, root) if file else ""
    at = _AT.search(said)
    return told(name, raised, Failure(name, int(at[1]) if at else None, None, ""), error=True)


def _frame(stack: str, root: Path) -> Failure | None:
    frame = own_frame(stack)
    if frame is None:
        return None
    return Failure(project_path(frame["file"], root), int(frame["line"]), int(frame["column"]), "")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def _text(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    # no path can be looked for that has a NUL character
    return value.replace("\0", "") if isinstance(value, str) else ""
