"""`tideate retry` and `tideate fork`: rerun an ended run from a step, as a new run."""

from __future__ import annotations

import asyncio
from json import loads
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from tideate_core.app import build_catalog, open_project, open_runner, reader_of, short_id, title_of
from tideate_core.cli.arguments import Json, Root, RunStep, Yes, as_text, parse_inputs, prompt_of
from tideate_core.cli.confirmations import confirmed, declined
from tideate_core.cli.process import log_to_file, run_async
from tideate_core.cli.render.output import report_errors
from tideate_core.errors import InvalidInput
from tideate_core.store import Reader

if TYPE_CHECKING:
    from pydantic import JsonValue

    from tideate_core.engine import Changed, ForkPlan, RunEdits

Definition = Annotated[
    Literal["stored", "file"],
    Parameter(
        name="--definition",
        help="If the workflow has changed: use the definition stored with the run, the default, or the file.",
    ),
]


@report_errors
def retry(
    run: RunStep,
    /,
    *,
    definition: Definition = "stored",
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Rerun an ended run from a step, and print its result; return the exit status."""
    # here, because the help needs no engine
    from tideate_core.engine import RunEdits

    return _rerun(run, RunEdits(), definition, or_whole=False, yes=yes, json=json, root=root)


@report_errors
def fork(
    run: RunStep,
    /,
    *words: Annotated[str, Parameter(name="PROMPT", help="The new prompt; `-` reads it from stdin.")],
    prompt: Annotated[str | None, Parameter(name="--prompt", metavar="TEXT", help="The new prompt.")] = None,
    inputs: Annotated[
        tuple[str, ...],
        Parameter(name=["--input", "-i"], metavar="KEY=VALUE", help="Another value of an input; repeatable."),
    ] = (),
    adapter: Annotated[
        str | None, Parameter(name="--adapter", metavar="NAME", help="Another model adapter.")
    ] = None,
    results: Annotated[
        tuple[str, ...],
        Parameter(
            name="--result",
            metavar="STEP=VALUE",
            help="Another result for a reused step, as JSON if it is not text; repeatable.",
        ),
    ] = (),
    turn: Annotated[
        int | None,
        Parameter(
            name="--turn",
            metavar="N",
            help="Repeat the step's model from this turn, as numbered by `tideate show RUN --step STEP "
            "--thread`. Earlier turns and their tool results are reused.",
        ),
    ] = None,
    say: Annotated[
        str,
        Parameter(name="--say", metavar="TEXT", help="With --turn: a message to the model before that turn."),
    ] = "",
    definition: Definition = "stored",
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Rerun an ended run from a step with edits, and print its result; return the exit status.

    Without a step: from the first failed step, or the whole run if none failed.
    """
    from tideate_core.engine import RunEdits

    if prompt is not None and words:
        raise InvalidInput("the prompt is given twice, with --prompt and after the run")
    if words:
        prompt = prompt_of(words)
    elif prompt is not None:
        prompt = as_text(prompt, "--prompt")
    say = None if say is None else as_text(say, "--say")
    known = _results(results, run, root) if results else {}
    edits = RunEdits(prompt, parse_inputs(inputs), adapter, known, turn=turn, say=say)
    return _rerun(run, edits, definition, or_whole=True, yes=yes, json=json, root=root)


def _results(pairs: tuple[str, ...], wanted: str, root: str | None) -> dict[str, JsonValue]:
    """Parse `STEP=VALUE` arguments; the value is JSON unless the step's result is text.

    :raises InvalidInput: a pair has no step, a step is repeated, or a value is not JSON.
    :raises RunNotFound: no run has this id.
    """
    from tideate_core.engine import split_run_step

    reader = reader_of(root)
    run = reader.run(split_run_step(wanted)[0])
    known = {row.step: row.result for row in reader.steps(run.id)}
    found: dict[str, JsonValue] = {}
    for pair in pairs:
        step, sign, value = pair.partition("=")
        if not sign or not step or step in found:
            raise InvalidInput(f"--result {pair}: a result is given as STEP=VALUE, once for each step")
        try:
            found[step] = value if isinstance(known.get(step), str) else loads(value)
        except ValueError as error:
            raise InvalidInput(f"--result {pair}: the value must be JSON ({error})") from error
    return found


def _rerun(
    wanted: str,
    edits: RunEdits,
    changed: Changed,
    *,
    or_whole: bool,
    yes: bool | None,
    json: bool,
    root: str | None,
) -> int:
    from tideate_core.cli.terminal import Interaction, run_to_end
    from tideate_core.engine import PolicyFrontEnd, plan_fork, split_run_step

    log_to_file()
    prefix, step = split_run_step(wanted)
    project = open_project(root)
    catalog = build_catalog(project.root)

    async def rerun() -> int:
        # before the store is opened, which would create it
        reader = Reader(project.private)
        plan = await asyncio.to_thread(plan_fork, reader, prefix, step, edits, or_whole=or_whole)
        run = plan.source.id
        if yes is None:
            async with open_runner(project, catalog, PolicyFrontEnd(None)) as runner:
                await runner.check_fork(run, step, edits, changed=changed, or_whole=or_whole)
        if not await confirmed(yes, "fork", _question(plan), run):
            return declined("no run was started", "starts it", yes, as_json=json)
        return await run_to_end(
            project,
            catalog,
            Interaction(yes, json),
            lambda runner: runner.fork_run(run, step, edits, changed=changed, or_whole=or_whole),
        )

    return run_async(rerun())


def _question(plan: ForkPlan) -> str:
    """Return the question whether to start a fork."""
    place = "" if plan.whole else f" from the step {plan.step!r}"
    if plan.turn is not None:
        place = f" from turn {plan.turn} of the step {plan.step!r}"
    title = title_of(plan.request.prompt)
    about = f" ({title})" if title else ""
    count = len(plan.reused)
    reused = f"{count} result{' is' if count == 1 else 's are'} reused"
    model = f" It asks {plan.request.adapter}." if plan.request.adapter else ""
    return (
        f"Rerun {plan.source.name} {short_id(plan.source.id)}{about}{place}? "
        f"{reused}; models are asked again.{model}"
    )
