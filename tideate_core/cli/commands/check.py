"""`tideate check` and `tideate machine check`: list all mistakes of workflow files with their positions."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter
from rich.text import Text

from tideate_core.cli.arguments import STDIN, Json, Machines, Root, Workflows
from tideate_core.cli.location import locate
from tideate_core.cli.process import DONE, USAGE
from tideate_core.cli.render.output import (
    diagnostic_json,
    fail,
    messages,
    print_json,
    results,
    tell_mistakes,
)
from tideate_core.cli.views.machine_files import NEVER_SEARCHED, Source, Unreadable, read_sources
from tideate_core.cli.views.project import build_catalog
from tideate_core.errors import InvalidDefinition, InvalidInput, TideateError
from tideate_core.project import expanded, real
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.machines.language import Diagnostic
    from tideate_core.workflows import (
        Catalog,
        FileMistake,
    )

__all__ = ["check", "check_machines", "described"]

TO_THE_END: Final = 1_000_000
"""Length of a mistake that goes over the end of its line."""
STYLES = {"error": "bold red", "warning": "bold yellow"}
MOST = 100
"""How many mistakes of one file are told to people."""


@dataclass(slots=True)
class Report:
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
        listed: dict[str, Any] = {"file": read.label, "ok": not errors}
        if isinstance(read, Unreadable):
            listed["error"] = read.message
        listed["diagnostics"] = [diagnostic_json(one) for one in found] if shapes is None else shapes
        self.reports.append(listed)

    def __str__(self) -> str:
        if not self.errors and not self.warnings:
            return "no mistakes"
        parts = filter(None, (_counted(self.errors, "error"), _counted(self.warnings, "warning")))
        return f"{', '.join(parts)} in {_counted(self.files, 'file')}"


@dataclass(frozen=True, slots=True)
class Checked:
    """A file and its mistakes, as people and as tools are told them."""

    read: Source | Unreadable
    found: tuple[Diagnostic, ...] = ()
    shapes: tuple[dict[str, Any], ...] = ()


def check(*files: Workflows, json: Json = False, root: Root = None) -> int:
    """Check workflow files; return 2 if there is an error."""
    report = Report()
    try:
        found = locate(root)
        catalog, servers = build_catalog(found), _known_servers(found)
        for checked in _check_named(files, catalog, servers) if files else _check_all(catalog, servers):
            _add(report, checked.read, checked.found, checked.shapes, as_json=json)
    except TideateError as error:
        fail(error, as_json=json)
        return USAGE
    if not json and not report.files:
        messages().print("no workflow files, neither the project's nor yours", style="yellow")
        return DONE
    return _print_summary(report, wrong=bool(report.errors), as_json=json)


def check_machines(
    *files: Machines,
    strict: Annotated[bool, Parameter(name="--strict", help="Treat warnings as errors.")] = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Check `.workflow` files; return 2 if there is an error."""
    report = Report()
    try:
        for read in read_sources(files, root):
            found = read.parse().diagnostics if isinstance(read, Source) else ()
            _add(report, read, found, None, as_json=json)
    except TideateError as error:
        fail(error, as_json=json)
        return USAGE
    return _print_summary(report, wrong=bool(report.errors or (strict and report.warnings)), as_json=json)


def _add(
    report: Report,
    read: Source | Unreadable,
    found: tuple[Diagnostic, ...],
    shapes: Sequence[dict[str, Any]] | None,
    *,
    as_json: bool,
) -> None:
    report.add(read, found, shapes)
    if not as_json:
        for part in described(read, found):
            tell_mistakes(results(), part)


def _print_summary(report: Report, *, wrong: bool, as_json: bool) -> int:
    if as_json:
        counts = {"errors": report.errors, "warnings": report.warnings}
        print_json({"ok": not wrong, **counts, "files": report.reports})
    else:
        results().print(str(report), style="bold" if wrong else "green")
    return USAGE if wrong else DONE


def described(read: Source | Unreadable, found: tuple[Diagnostic, ...]) -> Iterator[Text]:
    """Give the text of each mistake: where and what, the line it is in, and a caret under it."""

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


def _known_servers(root: Path | None) -> frozenset[str]:
    """Return the MCP servers that a step may name, also those that wait for trust."""

    from tideate_core.config import OWN_SERVERS, load

    loaded = load(root)
    own = () if root is None else OWN_SERVERS
    return frozenset({*own, *loaded.config.mcp.servers, *loaded.untrusted_servers})


def _check_all(catalog: Catalog, servers: frozenset[str]) -> Iterator[Checked]:
    for file in catalog.files():
        label = _label(file.path)
        if file.problem:
            yield Checked(Unreadable(label, file.problem.removeprefix(f"{file.path}: ")))
        else:
            yield _check_file(label, file.path, catalog, servers)


def _check_named(names: tuple[str, ...], catalog: Catalog, servers: frozenset[str]) -> Iterator[Checked]:
    """Check all that is named, each file once; what cannot be read does not stop the others."""
    seen: set[Path] = set()
    for name in names:
        try:
            for label, path in _files(name, catalog):
                if real(path) not in seen:
                    yield _check_file(label, path, catalog, servers)
                seen.add(real(path))
        except TideateError as error:
            yield Checked(Unreadable(name, str(error)))


def _files(name: str, catalog: Catalog) -> Iterator[tuple[str, Path]]:
    """Give what one name stands for, each with how it is called in messages.

    A workflow of that name comes first, as it does where one is run.
    """

    from tideate_core.workflows import is_workflow_path

    if name == STDIN:
        raise InvalidInput(
            "a definition is not read from stdin; for a machine there is `tideate machine check -`"
        )
    path = expanded(name)
    if not is_workflow_path(name) and name in catalog.names():
        file = catalog.file_of(name)
        if file is None:
            raise InvalidInput(f"the workflow {name!r} is in no file; there is nothing to check")
        yield _label(file), file
    elif _is_directory(path):
        yield from _below(path)
    elif is_workflow_path(name):
        yield name, path
    else:
        catalog.file_of(name)  # tells what is known
        yield name, path


def _check_file(label: str, path: Path, catalog: Catalog, servers: frozenset[str]) -> Checked:
    from tideate_core.workflows import is_definition_path, parse_definition, read_machine_text

    try:
        text = read_machine_text(path)
    except InvalidDefinition as error:
        return Checked(Unreadable(label, str(error).removeprefix("is ")))
    if not is_definition_path(path.name):
        source = Source(label, path, text)
        found = source.parse().diagnostics
        shapes = ({**diagnostic_json(one), "end_line": one.position.line} for one in found)
        return Checked(source, found, tuple(shapes))
    known = replace(catalog.known_names(path), servers=servers)
    parsed = parse_definition(path, text, known, label)
    # lines end as the parser and editors see them
    source = Source(label, path, re.sub(r"\r\n?", "\n", text))
    mistakes = parsed.mistakes
    return Checked(source, tuple(map(_diagnostic, mistakes)), tuple(one._asdict() for one in mistakes))


def _diagnostic(mistake: FileMistake) -> Diagnostic:
    from tideate_core.machines.language import Diagnostic, Position

    length = mistake.end_column - mistake.column if mistake.end_line == mistake.line else TO_THE_END
    words = f"{mistake.message}; {mistake.hint}" if mistake.hint else mistake.message
    return Diagnostic(Position(mistake.line, mistake.column), max(1, length), mistake.severity, "", words)


def _below(directory: Path) -> Iterator[tuple[str, Path]]:
    """Give the machines below a directory, and the definitions that are where definitions are."""
    found = False
    errors: list[OSError] = []
    for place, folders, files in os.walk(directory, onerror=errors.append):
        folders[:] = sorted(set(folders) - NEVER_SEARCHED)
        for file in sorted(filter(partial(_is_workflow, Path(place, "").resolve()), files)):
            found = True
            yield str(Path(place, file)), Path(place, file)
    if errors:
        raise InvalidInput(f"{errors[0].filename} cannot be read: {errors[0].strerror}")
    if not found:
        raise InvalidInput("there is no file of a workflow in this directory")


def _is_workflow(place: Path, file: str) -> bool:
    # other files in YAML and JSON are everywhere
    from tideate_core.workflows import is_definition_name, is_machine_name

    return is_machine_name(file) or (place.name == "workflows" and is_definition_name(file))


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # longer than any name can be


def _label(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
