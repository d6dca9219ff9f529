"""`tideate run` and `tideate resume`: run or resume a workflow at the terminal."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import partial
from json import loads
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import (
    STDIN,
    Project,
    build_catalog,
    continue_paused,
    open_project,
    open_runner,
    paused_in,
    run_to_resume,
    short_id,
    waiting_words,
)
from tideate_core.cli.arguments import (
    AtGate,
    FileRange,
    Inputs,
    Json,
    Obfuscate,
    Positive,
    Root,
    Yes,
    parse_inputs,
    prompt_of,
    read_stdin,
    run_ids,
    step_names,
    workflow_names,
)
from tideate_core.cli.process import DECLINED, log_to_file, run_async
from tideate_core.cli.render.output import messages, note, report_errors, report_usage_errors, tell
from tideate_core.errors import InvalidDefinitionFile, InvalidInput, InvalidWorkflowFile, TideateError
from tideate_core.store import Reader, resumable_runs, state_of
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import Changed, Event, RunRequest, WorkflowResult, WorkflowRunner
    from tideate_core.store import RunRow
    from tideate_core.workflows import Catalog, TextFormat

TRANSITION: Final = re.compile(r"^[ \t]*(\*|\w+)[ \t]+to[ \t]+(\*|\w+)[ \t]*:?[ \t]*\r?$", re.MULTILINE)
"""Transition line of a `.workflow` file."""
STEPS: Final = re.compile(r"^steps[ \t]*:", re.MULTILINE)


@report_usage_errors
def run(
    name: Annotated[
        str,
        Parameter(
            help="A workflow, see `tideate list`, a workflow file, or `-` to read one from stdin.",
            completer=workflow_names,
        ),
    ],
    /,
    *prompt: Annotated[str, Parameter(help="The prompt; `-` reads it from stdin.")],
    inputs: Inputs = (),
    file: FileRange = None,
    adapter: Annotated[str | None, Parameter(name="--adapter", metavar="NAME", help="Model adapter.")] = None,
    format: Annotated[  # noqa: A002 the option's name
        Literal["yaml", "json", "workflow"] | None,
        Parameter(name="--format", help="Language of a workflow from stdin. Default: by its text."),
    ] = None,
    step: Annotated[
        str | None,
        Parameter(
            name="--step",
            metavar="STEP",
            help="Run only this step and the steps that it depends on.",
            completer=step_names,
        ),
    ] = None,
    continues: Annotated[
        str | None,
        Parameter(
            name="--continue",
            metavar="RUN",
            help="Continue the conversation of a run: its ID, a prefix of it, or `last`.",
            completer=run_ids,
        ),
    ] = None,
    turn: Annotated[
        int | None,
        Parameter(
            name="--turn",
            metavar="N",
            help="With --continue: continue after this turn, see `tideate show --thread`. Default: the last.",
            validator=Positive,
        ),
    ] = None,
    memory: Annotated[
        bool,
        Parameter(
            name="--memory",
            negative="--no-memory",
            help="Send the project's memory: its MEMORY.md and the two most similar earlier runs.",
        ),
    ] = True,
    at_gate: AtGate = None,
    yes: Yes = None,
    obfuscate: Obfuscate = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Run a workflow and print its result; return the exit status."""
    _check_stdin(name, prompt, format, file, obfuscate=obfuscate)
    if turn is not None and continues is None:
        raise InvalidInput("--turn requires --continue")
    log_to_file()
    project = open_project(root)
    leaves = leaves_at_gate(at_gate, project)
    catalog = build_catalog(project.root)
    _load_ahead(project, catalog, name, adapter)
    # imported while the adapter is loading
    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import RunRequest

    request = RunRequest(
        name="stdin" if name == STDIN else name,
        inputs=parse_inputs(inputs),
        prompt=_prompt(name, prompt, file, project),
        adapter=adapter,
        obfuscate=obfuscate,
        continues=continues,
        turn=turn,
        memory=memory,
    )
    interaction = Interaction(yes, json, leaves=leaves)
    if name == STDIN:
        text = read_stdin()
        request = request.model_copy(update={"step": step})
        run_text = partial(_run_text, text, format or _format_of(text))
        return run_async(
            _run(request, file, project, catalog, Interaction(yes, json, leaves=leaves), run_text)
        )
    try:
        catalog.get(name, obfuscate=obfuscate)
    except (InvalidDefinitionFile, InvalidWorkflowFile) as error:
        run_async(_record_refused(request, error, project, catalog))
        error.execution_id = request.execution_id
        raise

    def start(runner: WorkflowRunner, request: RunRequest) -> Coroutine[Any, Any, WorkflowResult]:
        return runner.run(request) if step is None else runner.run_step(request, step)

    return run_async(_run(request, file, project, catalog, interaction, start))


def leaves_at_gate(wanted: str | None, project: Project) -> bool:
    """Tell whether a run is left at a question that needs a person.

    :param wanted: value of `--at-gate`.
    :raises InvalidInput: there is no project, so the run cannot be published.
    """
    from tideate_core.cli.confirmations import has_person

    if wanted is None:
        return project.loaded.config.ci.at_gate == "leave" and not has_person() and project.root is not None
    if wanted == "leave" and project.root is None:
        raise InvalidInput("--at-gate leave: no project is open, so there is no repository to publish to")
    return wanted == "leave"


def _prompt(name: str, words: tuple[str, ...], file: str | None, project: Project) -> str:
    """Return the prompt with piped text, unless stdin is the prompt, the workflow or the file."""
    prompt = prompt_of(words)
    if STDIN in (name, file) or words == (STDIN,):
        return prompt
    from tideate_core.cli.piped_stdin import with_piped_text

    return with_piped_text(prompt, project)


def _load_ahead(project: Project, catalog: Catalog, name: str, adapter: str | None) -> None:
    """Start to import the model adapter in the background, unless the workflow asks no model."""
    with suppress(TideateError):  # the same error is raised again later
        if name != STDIN:
            known = catalog.get(name)
            steps = getattr(known.definition, "steps", None)  # None for a machine
            if steps is not None and all(step.kind == "tool" for step in steps):
                return
            from tideate_core.engine import driver_hooks

            if not driver_hooks(name, known.kind, known.source).asks_model:
                return
        # here, because other commands need no adapters
        from tideate_core.adapters import load_ahead

        config = project.loaded.config
        load_ahead(config, adapter or config.adapter_for(name))


def _format_of(text: str) -> TextFormat:
    """Detect the language of a workflow from stdin."""
    try:
        loads(text)
    except ValueError:
        return "workflow" if TRANSITION.search(text) and not STEPS.search(text) else "yaml"
    return "json"


def _check_stdin(
    name: str,
    prompt: tuple[str, ...],
    format: str | None,  # noqa: A002 as the option
    file: str | None,
    *,
    obfuscate: bool,
) -> None:
    """Refuse a second use of stdin, and options that are invalid with, or without, a workflow from stdin."""
    if file == STDIN and (name == STDIN or prompt == (STDIN,)):
        other = "workflow" if name == STDIN else "prompt"
        raise InvalidInput(f"stdin is the {other}, so `--file -` cannot use it")
    if name != STDIN:
        if format is not None:
            raise InvalidInput(
                "--format is for a workflow from stdin, `-`; a file has its format in its name"
            )
    elif prompt == (STDIN,):
        raise InvalidInput("stdin is the workflow, so the prompt cannot be read from it, too")
    elif obfuscate:
        raise InvalidInput("a workflow from stdin cannot be obfuscated; write it to a file and name that")


def _run_text(
    text: str,
    format: TextFormat,  # noqa: A002 as the option
    runner: WorkflowRunner,
    request: RunRequest,
) -> Coroutine[Any, Any, WorkflowResult]:
    from tideate_core.engine import WorkflowEngine

    return WorkflowEngine(runner).execute(text, format, request=request)


async def _record_refused(
    request: RunRequest, error: TideateError, project: Project, catalog: Catalog
) -> None:
    """Record the refused run of an invalid file in the history."""
    from tideate_core.engine import EventName, PolicyFrontEnd

    def tell(event: Event) -> None:
        if event.name is EventName.NOTICE:
            note(event.data["message"])

    async with open_runner(project, catalog, PolicyFrontEnd(accept=False)) as runner:
        await runner.record_refused(request, error, tell)


async def _run(
    request: RunRequest,
    file: str | None,
    project: Project,
    catalog: Catalog,
    interaction: Interaction,
    start: Callable[[WorkflowRunner, RunRequest], Coroutine[Any, Any, WorkflowResult]],
) -> int:
    from tideate_core.cli.piped_stdin import file_context
    from tideate_core.cli.terminal import run_to_end

    request = request.model_copy(update={"context": await file_context(file, project)})
    notices = catalog.notices_of(request.name)
    return await run_to_end(project, catalog, interaction, lambda runner: start(runner, request), notices)


OTHERS = "other runs have not ended; `tideate resume RUN` resumes one:"
WITHIN = 10.0
"""Seconds to wait until another process continues its paused run."""


@report_errors
def resume(
    run: Annotated[
        str | None,
        Parameter(
            help="ID of the run, or a prefix of it. Default: the newest that can be resumed.",
            completer=run_ids,
        ),
    ] = None,
    /,
    *,
    takeover_after: Annotated[
        float,
        Parameter(
            name="--takeover-after",
            metavar="SECONDS",
            help="Take over the run of another machine after this time without a heartbeat.",
            validator=Positive,
        ),
    ] = 10.0,
    definition: Annotated[
        Literal["ask", "stored", "file"],
        Parameter(
            name="--definition",
            help="If the workflow has changed: use the definition stored with the run, or the file.",
        ),
    ] = "ask",
    remote: Annotated[
        str | None,
        Parameter(
            name="--from",
            metavar="REMOTE",
            help="Fetch a published run and its answer from this remote, and continue it here. Without a "
            "terminal, it leaves again at a further question.",
        ),
    ] = None,
    again: Annotated[
        bool,
        Parameter(name="--again", help="With --from: continue it even if another machine has begun to."),
    ] = False,
    land: Annotated[
        Literal["branch"] | None,
        Parameter(
            name="--land",
            metavar="branch",
            help="With --from: commit the run's changes to the branch `tideate/RUN`, and push it.",
        ),
    ] = None,
    adapter: Annotated[
        str | None,
        Parameter(
            name="--adapter",
            metavar="NAME",
            help="Model adapter for the rest of the run. Default: the one that it had.",
        ),
    ] = None,
    at_gate: AtGate = None,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Resume a run and print its result; return the exit status."""
    from tideate_core.cli.terminal import Interaction

    log_to_file()
    project = open_project(root)
    interaction = Interaction(yes, json, leaves=leaves_at_gate(at_gate, project))
    if remote is None:
        if again or land:
            raise InvalidInput(f"{'--again' if again else '--land'} requires --from")
        return run_async(_resume(run, project, interaction, takeover_after, definition, adapter))
    if run is None:
        raise InvalidInput("--from requires the id of the run; `tideate inbox` lists the runs that wait")
    from tideate_core.cli.published import resume_published

    continuing = partial(resume_published, again=again, land=land, changed=definition, adapter=adapter)
    return run_async(continuing(run, project, interaction, remote))


async def _resume(
    wanted: str | None,
    project: Project,
    interaction: Interaction,
    takeover_after: float,
    changed: Changed,
    adapter: str | None,
) -> int:
    from tideate_core.cli.terminal import run_to_end

    reader = Reader(project.private)
    run = await _choose_run(wanted, reader, interaction)
    if run is None:
        return DECLINED
    if (pid := paused_in(run)) is not None:
        if adapter is not None:
            raise InvalidInput(
                f"run {short_id(run.id)} continues in process {pid}, with the model that it has"
            )
        from tideate_core.cli.commands.control import report_run

        now = await continue_paused(project.root, reader, run, WITHIN)
        words = f"{run.name} ({short_id(run.id)}) continues in process {pid}"
        return report_run(now, words, as_json=interaction.json)
    if run.compared:
        it = short_id(run.id)
        note(
            f"run {it} is part of a comparison of {', '.join(run.compared)}, and is resumed alone; "
            f"`tideate compare --resume {it}` resumes all of it"
        )
    return await run_to_end(
        project,
        build_catalog(project.root),
        interaction,
        lambda runner: runner.resume_run(
            run.id, takeover_after=takeover_after, changed=changed, adapter=adapter
        ),
    )


async def _choose_run(wanted: str | None, reader: Reader, interaction: Interaction) -> RunRow | None:
    """Return the run to resume; without an id, ask about the newest; None if declined."""
    from tideate_core.cli.keyboard import Keyboard

    newest = await asyncio.to_thread(run_to_resume, reader, wanted)
    if wanted is not None:
        return newest
    from tideate_core.cli.render.tables import steps_words, waiting_lines, when

    words = (
        f"{newest.name} ({short_id(newest.id)}) of {when(newest.started_at)}, {state_of(newest)}, "
        f"steps done: {steps_words(newest)}"
    )
    if waits := await asyncio.to_thread(waiting_words, reader, newest):
        words = f"{words}; it {waits}"
    if not interaction.asks and interaction.policy is None:
        raise InvalidInput(
            f"there is no terminal to ask on whether to resume {words}; "
            f"`tideate resume {short_id(newest.id)}` does"
        )
    console = messages()
    others = [run for run in await asyncio.to_thread(resumable_runs, reader) if run.id != newest.id]
    if others:
        lines = await asyncio.to_thread(waiting_lines, reader, others)
        tell(console, Text(visible("\n".join([OTHERS, *lines])), style="yellow"))
    tell(console, Text(visible(words)))
    if interaction.policy is not None:
        return newest if interaction.policy else None
    answer = await Keyboard(console).line(Text.assemble(("Resume it?", "bold"), (" [Y/n]", "cyan")))
    return newest if answer is not None and answer.lower() in ("", "y", "yes") else None
