"""`tideate compare`: run several models at one prompt, and take one answer or hunks of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tideate_core.app import (
    build_catalog,
    open_project,
    short_id,
)
from tideate_core.cli.arguments import (
    FileRange,
    Inputs,
    Json,
    Root,
    Yes,
    parse_inputs,
    prompt_of,
    run_ids,
    workflow_names,
)
from tideate_core.cli.process import DECLINED, DONE, FAILED, log_to_file, run_async
from tideate_core.cli.render.output import (
    messages,
    print_json,
    print_message,
    print_result,
    report_usage_errors,
)
from tideate_core.errors import InvalidInput
from tideate_core.store import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from tideate_core.app import Project
    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import Comparison, ComparisonResult, RunRequest
    from tideate_core.workflows import Catalog


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
    agents: Annotated[
        str | None,
        Parameter(
            name="--agents",
            metavar="NAME,NAME",
            help="Agents, such as claude,codex: as --models acp:claude,acp:codex, for the workflow `agent`.",
        ),
    ] = None,
    take: Annotated[
        str | None,
        Parameter(
            name="--take",
            metavar="NAME",
            help="Take this model's answer without asking; you still review its changes.",
        ),
    ] = None,
    inputs: Inputs = (),
    file: FileRange = None,
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
    """Run several models at one prompt and print the chosen answer; return the exit status."""
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
    adapters = [*_listed(models), *map(agent_adapter, _listed(agents))]
    if take is not None and agents and agent_adapter(take) in adapters:
        take = agent_adapter(take)
    if take is not None and take not in adapters:
        raise InvalidInput(f"--take {take}: it is not among {', '.join(adapters) or '--models'}")
    words = prompt_of(prompt)
    return run_async(
        _start(project, interaction, take, name or "", words, adapters, parse_inputs(inputs), file)
    )


def _listed(names: str | None) -> list[str]:
    return [one.strip() for one in (names or "").split(",") if one.strip()]


def agent_adapter(name: str) -> str:
    """Return the adapter of an agent."""
    return name if name.startswith("acp:") else f"acp:{name}"


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
    from tideate_core.cli.piped_stdin import file_context
    from tideate_core.engine import RunRequest, compared_requests

    context = await file_context(file, project)
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
    """Refuse, before the first model call, a reviewed workflow without a person or policy for its review.

    :raises InvalidInput: the review cannot be answered.
    :raises UnknownWorkflow: no workflow has this name.
    """
    known = catalog.get(request.name)
    # text outside of a file is not reviewed
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
    from tideate_core.cli.terminal import attend
    from tideate_core.engine import Comparison

    catalog = build_catalog(project.root)
    _refuse_unanswered(interaction, catalog, request)
    # --take chooses the model, and answers no other question
    done, _, interruption = await attend(
        project,
        catalog,
        interaction,
        lambda runner, front: start(Comparison(runner, front, take=take)),
        several=True,
    )
    if interruption.left:
        words = (
            f"the comparison waits; `tideate compare --resume {short_id(request.execution_id)}` resumes it"
        )
        print_message(words, "cyan")
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
    """Print the table of runs and the chosen answer."""
    from tideate_core.cli.render.comparison import comparison_table

    shape = done.as_json()
    console = messages()
    console.print(comparison_table(shape["runs"], done.taken))
    if done.result is not None and done.result.files:
        console.print(f"roll back: tideate rollback {done.taken}", style="dim", soft_wrap=True)
    if "error" in shape and not interaction.json:
        print_message(shape["error"], "yellow")
    for one, adapter in zip(done.results, done.adapters, strict=False) if done.taken is None else ():
        if one.reason == "declined":
            words = (
                f"kept; `tideate review {short_id(one.execution_id)}` opens the review of {adapter!r} again"
            )
            print_message(words, "dim")
    if interaction.json:
        print_json(shape)
    elif done.result is not None and done.result.ok:
        print_result(done.result)
