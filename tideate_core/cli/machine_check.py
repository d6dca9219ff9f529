"""`tideate machine check`: every mistake of every file, where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.cli import output
from tideate_core.cli.machine_source import Source, Unreadable, sources
from tideate_core.cli.output import diagnostic_json, fail, print_json, results, tell_mistakes, visible
from tideate_core.errors import TideateError
from tideate_core.machines.language import explanations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.machines.language import Diagnostic

__all__ = ["Count", "check", "described"]

STYLES = {"error": "bold red", "warning": "bold yellow"}
MOST = 100
"""How many mistakes of one file are told to people."""


@dataclass(slots=True)
class Count:
    """How many mistakes there are, and the reports of them."""

    files: int = 0
    errors: int = 0
    warnings: int = 0
    reports: list[dict[str, Any]] = field(default_factory=list)
    """Of each file, for tools."""

    def add(
        self,
        read: Source | Unreadable,
        found: tuple[Diagnostic, ...],
        shapes: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        """Count a file's mistakes.

        :param shapes: of them, for tools; by default those of diagnostics.
        """
        errors = sum(one.severity == "error" for one in found) + isinstance(read, Unreadable)
        self.files += 1
        self.errors += errors
        self.warnings += sum(one.severity == "warning" for one in found)
        report: dict[str, Any] = {"file": read.label, "ok": not errors}
        if isinstance(read, Unreadable):
            report["error"] = read.message
        report["diagnostics"] = [diagnostic_json(one) for one in found] if shapes is None else shapes
        self.reports.append(report)

    def __str__(self) -> str:
        if not self.errors and not self.warnings:
            return "no mistakes"
        parts = filter(None, (_counted(self.errors, "error"), _counted(self.warnings, "warning")))
        return f"{', '.join(parts)} in {_counted(self.files, 'file')}"


def check(files: tuple[str, ...], root: str | None, *, strict: bool, as_json: bool) -> int:
    """Print the mistakes of all files; returns 2 if there is one."""
    count = Count()
    console = results()
    try:
        for read in sources(files, root):
            found = read.parse().diagnostics if isinstance(read, Source) else ()
            count.add(read, found)
            if not as_json:
                for part in described(read, found):
                    tell_mistakes(console, part)
    except TideateError as error:
        fail(error, as_json=as_json)
        return 2
    wrong = bool(count.errors or (strict and count.warnings))
    if as_json:
        print_json(
            {"ok": not wrong, "errors": count.errors, "warnings": count.warnings, "files": count.reports}
        )
    else:
        console.print(str(count), style="bold" if wrong else "green")
    return 2 if wrong else 0


def described(read: Source | Unreadable, found: tuple[Diagnostic, ...]) -> Iterator[Text]:
    """Give the text of each mistake: where and what, the line it is in, and a caret under it."""
    label = output.label(read.label)
    if isinstance(read, Unreadable):
        yield Text.assemble((f"{label}: ", "bold"), ("error: ", STYLES["error"]), visible(read.message))
        return
    some = found[:MOST]
    for one, text in zip(some, explanations(some, read.raw, label), strict=True):
        yield _coloured(one, text, label)
    if len(found) > MOST:
        yield Text.assemble((f"{label}: ", "bold"), f"and {len(found) - MOST} more")


def _coloured(one: Diagnostic, explained: str, label: str) -> Text:
    style = STYLES[one.severity]
    text = Text(explained)
    head = explained.partition("\n")[0]
    place = len(f"{label}:{one.position.line}:{one.position.column}:")
    text.stylize("bold", 0, place)
    text.stylize(style, place, place + len(f" {one.severity}:"))
    if one.code:
        text.stylize("dim", head.rindex("["), len(head))
    if head != explained:
        text.stylize(style, explained.rindex("\n"))
    return text


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}" if number else ""
