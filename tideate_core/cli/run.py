"""`tideate run`: from arguments to a request, through the runner, to an exit status."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.cli.interruption import Interruption
from tideate_core.cli.output import fail, messages, path_line, print_json, print_result, tell, visible
from tideate_core.cli.subject import read_subject
from tideate_core.cli.terminal import TerminalFrontEnd
from tideate_core.cli.wiring import build_catalog, log_to_file, open_project, open_runner
from tideate_core.engine import PolicyFrontEnd, RunRequest
from tideate_core.errors import InvalidInput, TideateError

if TYPE_CHECKING:
    from pydantic import JsonValue
    from rich.console import Console

    from tideate_core.cli.wiring import Project
    from tideate_core.engine import WorkflowResult
    from tideate_core.workflows import Catalog

__all__ = ["Options", "run_workflow"]

DONE, FAILED, USAGE, DECLINED, INTERRUPTED = 0, 1, 2, 3, 130

INVALID_FILES = frozenset({"ConfigError", "InvalidWorkflowFile"})
"""Error codes that are wrong usage even when a run comes upon them on its way."""


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `tideate run`."""

    name: str
    prompt: tuple[str, ...] = ()
    from_stdin: bool = False
    inputs: tuple[str, ...] = ()
    file: str | None = None
    adapter: str | None = None
    policy: bool | None = None
    """The answer to every confirmation; None asks a person where there is one."""
    obfuscate: bool = False
    """Everybody, the model too, is told tokens instead of a machine's states."""
    json: bool = False
    root: str | None = None


def run_workflow(options: Options) -> int:
    """Run a workflow and print its result; returns the exit status."""
    try:
        log_to_file()
        project = open_project(options.root)
        catalog = build_catalog(project.root)
        catalog.get(options.name, obfuscate=options.obfuscate)
        inputs = parse_inputs(options.inputs)
        prompt = sys.stdin.read().strip() if options.from_stdin else " ".join(options.prompt)
        return asyncio.run(_run(options, project, catalog, prompt, inputs))
    except TideateError as error:
        fail(error, as_json=options.json)
        return USAGE


def parse_inputs(pairs: tuple[str, ...]) -> dict[str, JsonValue]:
    """Read `KEY=VALUE` arguments; the values are strings.

    :raises InvalidInput: one has no key, or a key comes twice.
    """
    inputs: dict[str, JsonValue] = {}
    for pair in pairs:
        key, found, value = pair.partition("=")
        if not found or not key:
            raise InvalidInput(f"-i {pair}: an input is given as KEY=VALUE")
        if key in inputs:
            raise InvalidInput(f"-i {pair}: the input {key!r} is given twice")
        inputs[key] = value
    return inputs


async def _run(
    options: Options, project: Project, catalog: Catalog, prompt: str, inputs: dict[str, JsonValue]
) -> int:
    context = await read_subject(options.file, project)
    request = RunRequest(
        name=options.name,
        prompt=prompt,
        context=context,
        inputs=inputs,
        adapter=options.adapter,
        obfuscate=options.obfuscate,
    )
    asks = options.policy is None and sys.stdin.isatty() and sys.stderr.isatty()
    console = messages()
    for notice in (*project.loaded.notices, *catalog.notices_of(options.name)):
        tell(console, Text(f"note: {visible(notice)}", style="yellow"))
    with TerminalFrontEnd(console, None if asks else PolicyFrontEnd(bool(options.policy))) as front:
        async with open_runner(project, catalog, front) as runner:
            with Interruption(runner.cancel) as interruption:
                result = await runner.run(request)
    if result.cancelled and not asks and options.policy is None:
        console.print("there is no terminal to ask on; --yes accepts", style="yellow")
    if result.path:
        way = [result.path[0]["from"], *(move["to"] for move in result.path)]
        tell(console, path_line(way))
    if result.files:
        console.print(f"undo: tideate rollback {result.execution_id}", style="dim", soft_wrap=True)
    _print(options, result, console)
    if result.cancelled:
        return INTERRUPTED if interruption.happened else DECLINED
    return _status(result, began=front.began)


def _print(options: Options, result: WorkflowResult, console: Console) -> None:
    if options.json:
        print_json(result.as_json())
    elif result.ok:
        print_result(result)
    elif result.response is not None:
        words = "unfinished: this is the last text that was written; --json has those of all states"
        tell(console, Text(words, style="yellow"))
        print_result(result)


def _status(result: WorkflowResult, *, began: bool) -> int:
    if result.ok:
        return DONE
    return FAILED if began and result.error_code not in INVALID_FILES else USAGE
