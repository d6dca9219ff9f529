"""`tideate run`: from arguments to a request, through the runner, to an exit status."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.cli.conducting import Manner, conduct
from tideate_core.cli.exits import USAGE
from tideate_core.cli.output import fail
from tideate_core.cli.subject import read_subject
from tideate_core.cli.wiring import build_catalog, log_to_file, open_project
from tideate_core.engine import RunRequest
from tideate_core.errors import InvalidInput, TideateError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from tideate_core.cli.wiring import Project
    from tideate_core.workflows import Catalog

__all__ = ["Options", "run_workflow"]


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
    return await conduct(
        project,
        catalog,
        Manner(options.policy, options.json),
        lambda runner: runner.run(request),
        catalog.notices_of(options.name),
    )
