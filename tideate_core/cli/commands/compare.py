"""`tideate compare`: several models at one prompt, of which one answer is taken, or a mix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import (
    build_catalog,
    open_project,
    open_runner,
    read_file_context,
    recover_before,
    short_id,
)
from tideate_core.cli.arguments import Json, Root, Yes, prompt_of, run_ids, workflow_names
from tideate_core.cli.commands.run import parse_inputs
from tideate_core.cli.location import log_to_file
from tideate_core.cli.process import DECLINED, DONE, FAILED, run_async
from tideate_core.cli.render.output import messages, note, print_json, print_result, report_usage_errors, tell
from tideate_core.errors import InvalidInput
from tideate_core.store import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from tideate_core.app import Project
    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import Comparison, ComparisonResult, RunRequest
    from tideate_core.workflows import Catalog

__all__ = ["compare"]


@report_usage_errors
def compare(
    name: Annotated[str | None, Parameter(help="A workflow.", completer=workflow_names)] = None,
    /,
    *prompt: Annotated[str, Parameter(help="The prompt; `-` reads it from stdin.")],
    models: Annotated[
        str | None,
        Parameter(
            name="--models",
            metavar="NAME,NAME",
            help="Model adapters, two or more, with commas between them.",
        ),
    ] = None,
    take: Annotated[
        str | None,
        Parameter(
            name="--take",
            metavar="NAME",
            help="Choose the answer of this model unasked; its review is asked.",
        ),
    ] = None,
    inputs: Annotated[
        tuple[str, ...],
        Parameter(name=["--input", "-i"], metavar="KEY=VALUE", help="Input of the workflow; repeatable."),
    ] = (),
    file: Annotated[
        str | None,
        Parameter(
            name="--file", metavar="PATH[:FIRST-LAST]", help="File to work on, or a range of its lines."
        ),
    ] = None,
    resume: Annotated[
        str | None,
        Parameter(
            name="--resume",
            metavar="RUN",
            help="Resume an interrupted comparison, by the ID of one of its runs.",
            completer=run_ids,
        ),
    ] = None,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Run several models at one prompt, and print the answer that is taken; return the exit status."""
    from tideate_core.cli.terminal import Interaction

    interaction = Interaction(yes, json)
    if (name is None) == (resume is None):
        raise InvalidInput("name a workflow to compare, or a run to --resume")
    if take is None and not interaction.asks:
        why = "there is no terminal to choose on"
        if yes is not None:
            why = f"{'--yes accepts' if yes else '--no declines'} a review, and chooses no answer"
        raise InvalidInput(f"{why}; --take NAME takes the answer of that model")
    log_to_file()
    project = open_project(root)
    if resume is not None:
        return run_async(_resume(project, interaction, take, resume))
    adapters = [one.strip() for one in (models or "").split(",") if one.strip()]
    if take is not None and take not in adapters:
        raise InvalidInput(f"--take {take}: it is not among --models {models or ''}".rstrip())
    words = prompt_of(prompt)
    return run_async(
        _start(project, interaction, take, name or "", words, adapters, parse_inputs(inputs), file)
    )


async def _start(
    project: Project,
    interaction: Interaction,
    take: str | None,
    name: str,
    prompt: str,
    adapters: list[str],
    inputs: dict[str, Any],
    file: str | None,
) -> int:
    from tideate_core.engine import RunRequest, compared_requests

    context = await read_file_context(file, project)
    request = RunRequest(name=name, prompt=prompt, inputs=inputs, context=context)
    runs = compared_requests(request, adapters)
    return await _compare(project, interaction, take, runs[0], lambda one: one.run(runs))


async def _resume(project: Project, interaction: Interaction, take: str | None, wanted: str) -> int:
    from tideate_core.engine import RunRequest

    reader = Reader(project.private)
    run = reader.run(wanted).id
    request = RunRequest.model_validate(reader.request(run)).model_copy(update={"execution_id": run})
    return await _compare(project, interaction, take, request, lambda one: one.resume(run))


def _refuse_unanswered(interaction: Interaction, catalog: Catalog, request: RunRequest) -> None:
    """Refuse, before a model is asked, what is reviewed where nobody can answer the review.

    :raises InvalidInput: it is.
    :raises UnknownWorkflow: there is no such workflow.
    """
    known = catalog.get(request.name)
    # text that belongs to no file is not reviewed
    writes = known.reviewed and ("place" not in known.definition.needs or request.context.buffer is not None)
    if writes and not interaction.asks and not interaction.policy:
        why = "there is no terminal to ask on" if interaction.policy is None else "--no declines that"
        raise InvalidInput(
            f"{request.name} asks before it writes, and {why}; nothing was sent to "
            "a model. --yes accepts the answer that --take names"
        )


async def _compare(
    project: Project,
    interaction: Interaction,
    take: str | None,
    request: RunRequest,
    start: Callable[[Comparison], Coroutine[Any, Any, ComparisonResult]],
) -> int:
    from tideate_core.cli.interruption import Interruption, RunCancellation
    from tideate_core.cli.terminal import TerminalFrontEnd
    from tideate_core.engine import Comparison, PolicyFrontEnd

    console = messages()
    catalog = build_catalog(project.root)
    _refuse_unanswered(interaction, catalog, request)
    for notice in project.loaded.notices:
        note(notice)
    await recover_before(project.root, note)
    # --take answers which model it is, and nothing else
    policy = None if interaction.asks else PolicyFrontEnd(interaction.policy)
    with TerminalFrontEnd(console, policy) as front:
        cancellation = RunCancellation(console, front.restore_terminal, several=True)
        front.leave = cancellation.leave_run
        with Interruption(cancellation.cancel, cancellation.notify_again, cancellation.leave) as interruption:
            async with open_runner(project, catalog, front) as runner:
                comparison = Comparison(runner, front, take=take)
                done = await cancellation.wait_for(runner, start(comparison))
    if cancellation.left:
        words = (
            f"the comparison waits; `tideate compare --resume {short_id(request.execution_id)}` resumes it"
        )
        tell(console, Text(words, style="cyan"))
    if done is None:
        return interruption.status
    _report(done, interaction)
    if done.result is None and interruption.happened:
        return interruption.status
    if done.result is not None:
        return DONE if done.result.ok else FAILED
    if not any(one.reason == "declined" for one in done.results):
        return FAILED
    return DECLINED


def _report(done: ComparisonResult, interaction: Interaction) -> None:
    """Print what each run took, and the answer that was taken."""
    from tideate_core.cli.render.comparison import comparison_table

    shape = done.as_json()
    console = messages()
    console.print(comparison_table(shape["runs"], done.taken))
    if done.result is not None and done.result.files:
        console.print(f"roll back: tideate rollback {done.taken}", style="dim", soft_wrap=True)
    if "error" in shape and not interaction.json:
        tell(console, Text(shape["error"], style="yellow"))
    for one, adapter in zip(done.results, done.adapters, strict=False) if done.taken is None else ():
        if one.reason == "declined":
            words = (
                f"kept; `tideate review {short_id(one.execution_id)}` opens the review of {adapter!r} again"
            )
            tell(console, Text(words, style="dim"))
    if interaction.json:
        print_json(shape)
    elif done.result is not None and done.result.ok:
        print_result(done.result)
