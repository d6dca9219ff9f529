"""`tideate diff`: compare two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.app import compare_runs, locate_project, reader_of, short_id
from tideate_core.cli.arguments import Json, Root, RunId
from tideate_core.cli.process import DONE
from tideate_core.cli.render.diffs import patch_text
from tideate_core.cli.render.output import (
    print_json,
    print_line,
    report_errors,
)
from tideate_core.cli.render.tables import page, table, token_words
from tideate_core.cli.render.words import lasted
from tideate_core.project import project_state
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST = 200
"""Maximum characters of an input."""


@report_errors
def diff(one: RunId, other: RunId, /, *, json: Json = False, root: Root = None) -> int:
    """Print the differences between two runs; return the exit status."""
    shape = compare_runs(reader_of(root), project_state(locate_project(root)), one, other)
    if json:
        print_json({"ok": True, **shape})
    else:
        _show(shape)
    return DONE


def _show(shape: Mapping[str, Any]) -> None:
    ids = [short_id(run["execution_id"]) for run in shape["runs"]]
    _show_facts(shape["runs"], ids)
    if not shape["same_definition"]:
        print_line("their definitions differ", "yellow")
    for given in shape["inputs"]:
        print_line(f"input {label(given['name'])}", "bold")
        for sign, style, value in zip("-+", ("red", "green"), given["values"], strict=True):
            if value is not None:
                print_line(f"{sign}{str(value)[:LONGEST]}", style)
    _show_steps(shape["steps"], ids)
    if not any(step["diff"] for step in shape["steps"]):
        _show_patch("response", shape["response"])
    for edit in shape["edits"]:
        _show_patch(_edit_name(edit, ids), edit["diff"], same=True)
    if shape["checks"]:
        checks = table("check", *ids)
        for check in shape["checks"]:
            checks.add_row(visible(check["check"]), *(visible(one or "-") for one in check["statuses"]))
        page().print(checks)


def _show_facts(runs: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> None:
    known = table("", *ids)
    for name, values in _facts(runs).items():
        if any(values):
            known.add_row(name, *(Text(visible(value)) for value in values))
    page().print(known)


def _facts(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    def forked(run: Mapping[str, Any]) -> str:
        source = run["forked_from"]
        return f"{short_id(source['execution_id'])}.{source['step']}" if source else ""

    return {
        "workflow": [run["workflow"] for run in runs],
        "status": ["declined" if run["reason"] == "declined" else run["state"] for run in runs],
        "took": [lasted(run["duration_ms"]) for run in runs],
        "tokens": [token_words(run["usage"]["input_tokens"], run["usage"]["output_tokens"]) for run in runs],
        "cost": [f"${run['usage']['cost']:.4f}" if "cost" in run["usage"] else "" for run in runs],
        "forked": [forked(run) for run in runs],
        "error": [" ".join((run["error"] or "").split())[:LONGEST] for run in runs],
    }


def _show_steps(steps: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> None:
    if not steps:
        return
    rows = table("step", *ids, "result")
    for step in steps:
        words = "differs" if step["diff"] else "same"
        rows.add_row(visible(step["step"]), *map(_end, step["ends"]), words)
    page().print(rows)
    for step in steps:
        _show_patch(f"result of {label(step['step'])}", step["diff"])


def _end(end: Mapping[str, Any] | None) -> str:
    if end is None:
        return "-"
    if end["reused"]:
        return f"{end['status']}, reused"
    return f"{end['status']} {lasted(end['duration_ms'])}".strip()


def _edit_name(edit: Mapping[str, Any], ids: Sequence[str]) -> str:
    name = f"file {label(edit['path'])}"
    wrote = [one for one, did in zip(ids, edit["written"], strict=True) if did]
    if len(wrote) == 1:
        name += f", written by {wrote[0]} only"
    if by_hand := [one for one, count in zip(ids, edit.get("edited", ()), strict=False) if count]:
        name += f", edited by hand in {' and '.join(by_hand)}"
    return name


def _show_patch(name: str, patch: str, *, same: bool = False) -> None:
    if patch:
        print_line(name, "bold")
        print_line(patch_text(patch))
    elif same:
        print_line(f"{name}: the same", "bold")
