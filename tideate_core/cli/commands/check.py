"""`tideate check` and `tideate machine check`: report mistakes in workflow files with their positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import Checked, Source, Unreadable, check_files, check_machine_files
from tideate_core.cli.arguments import Json, Machines, Root, Workflows
from tideate_core.cli.process import DONE, USAGE
from tideate_core.cli.render.output import messages, print_json, report_usage_errors, results, tell_mistakes
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tideate_core.machines.language import Diagnostic

STYLES = {"error": "bold red", "warning": "bold yellow"}
MOST = 100
"""Maximum mistakes printed for one file."""


@dataclass(slots=True)
class Report:
    """Counts of files and mistakes, and the JSON report of each file."""

    files: int = 0
    errors: int = 0
    warnings: int = 0
    reports: list[dict[str, Any]] = field(default_factory=list)

    def add(self, checked: Checked) -> None:
        """Add the mistakes of a file."""
        read = checked.read
        errors = sum(one.severity == "error" for one in checked.found) + isinstance(read, Unreadable)
        self.files += 1
        self.errors += errors
        self.warnings += sum(one.severity == "warning" for one in checked.found)
        error = {"error": read.message} if isinstance(read, Unreadable) else {}
        shape = {"file": read.label, "ok": not errors, **error, "diagnostics": list(checked.shapes)}
        self.reports.append(shape)

    def __str__(self) -> str:
        if not self.errors and not self.warnings:
            return "no mistakes"
        parts = filter(None, (_counted(self.errors, "error"), _counted(self.warnings, "warning")))
        return f"{', '.join(parts)} in {_counted(self.files, 'file')}"


@report_usage_errors
def check(*files: Workflows, json: Json = False, root: Root = None) -> int:
    """Check workflow files; return 2 for errors."""
    report = _print_mistakes(check_files(files, root), as_json=json)
    if not json and not report.files:
        messages().print("no workflow files, neither the project's nor yours", style="yellow")
        return DONE
    return _print_summary(report, wrong=bool(report.errors), as_json=json)


@report_usage_errors
def check_machines(
    *files: Machines,
    strict: Annotated[bool, Parameter(name="--strict", help="Treat warnings as errors.")] = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Check `.workflow` files; return 2 for errors."""
    report = _print_mistakes(check_machine_files(files, root), as_json=json)
    return _print_summary(report, wrong=bool(report.errors or (strict and report.warnings)), as_json=json)


def _print_mistakes(files: Iterable[Checked], *, as_json: bool) -> Report:
    report = Report()
    for checked in files:
        report.add(checked)
        if not as_json:
            for part in described(checked.read, checked.found):
                tell_mistakes(results(), part)
    return report


def _print_summary(report: Report, *, wrong: bool, as_json: bool) -> int:
    if as_json:
        counts = {"errors": report.errors, "warnings": report.warnings}
        print_json({"ok": not wrong, **counts, "files": report.reports})
    else:
        results().print(str(report), style="bold" if wrong else "green")
    return USAGE if wrong else DONE


def described(read: Source | Unreadable, found: tuple[Diagnostic, ...]) -> Iterator[Text]:
    """Yield each mistake as text: position, message, source line and caret."""
    from tideate_core.machines.language import explanations

    name = label(read.label)
    if isinstance(read, Unreadable):
        yield Text.assemble((f"{name}: ", "bold"), ("error: ", STYLES["error"]), visible(read.message))
        return
    some = found[:MOST]
    for one, text in zip(some, explanations(some, read.raw, name), strict=True):
        yield _coloured(one, text, name)
    if len(found) > MOST:
        yield Text.assemble((f"{name}: ", "bold"), f"and {len(found) - MOST} more")


def _coloured(one: Diagnostic, explained: str, name: str) -> Text:
    style = STYLES[one.severity]
    text = Text(explained)
    head = explained.partition("\n")[0]
    place = len(f"{name}:{one.position.line}:{one.position.column}:")
    text.stylize("bold", 0, place)
    text.stylize(style, place, place + len(f" {one.severity}:"))
    if one.code:
        text.stylize("dim", head.rindex("["), len(head))
    if head != explained:
        text.stylize(style, explained.rindex("\n"))
    return text


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}" if number else ""
