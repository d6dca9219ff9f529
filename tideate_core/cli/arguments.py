"""Shared command arguments with their shell completion, and decoding of arguments and stdin."""

from __future__ import annotations

import locale
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter, validators

from tideate_core.app import STDIN, not_utf8
from tideate_core.cli.process import run_async
from tideate_core.errors import InvalidInput
from tideate_core.project import DEFINITION_SUFFIXES, expand_home
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext
    from pydantic import JsonValue


def workflow_names(context: CompletionContext) -> list[str]:
    """Complete workflow names and workflow files."""
    from tideate_core.app import build_catalog
    from tideate_core.project import find_root

    names = build_catalog(find_root(Path.cwd())).names()
    return [*names, *_files(context.incomplete, (".workflow", *DEFINITION_SUFFIXES))]


def step_names(context: CompletionContext) -> list[str]:
    """Complete the steps of the named workflow."""
    from tideate_core.app import build_catalog
    from tideate_core.project import find_root
    from tideate_core.workflows import MachineWorkflow

    definition = build_catalog(find_root(Path.cwd())).look_at(context["name"].raw or "").definition
    return [] if isinstance(definition, MachineWorkflow) else list(definition.step_names)


def machine_names(context: CompletionContext) -> list[str]:
    """Complete names and files of state machines."""
    from tideate_core.app import build_catalog
    from tideate_core.project import find_root
    from tideate_core.workflows import MachineWorkflow

    known = (one.definition for one in build_catalog(find_root(Path.cwd())).list())
    return [*(one.name for one in known if isinstance(one, MachineWorkflow)), *_files(context.incomplete)]


def state_names(context: CompletionContext) -> list[str]:
    """Complete the states of the named machine."""
    from tideate_core.app import open_machine

    if context["file"].raw in ("-", STDIN):
        return ["*"]  # stdin can be read only once
    return ["*", *open_machine(context["file"].raw or "", None).machine.states]


def _files(word: str, suffixes: tuple[str, ...] = (".workflow",)) -> list[str]:
    directory, _, start = word.rpartition("/")
    prefix = f"{directory}/" if "/" in word else ""
    place = expand_home(prefix or ".")
    if not place.is_dir():
        return []
    entries = sorted(entry for entry in place.iterdir() if entry.name.startswith(start))
    hidden = start.startswith(".")
    found = [entry for entry in entries if hidden or not entry.name.startswith(".")]
    folders = [f"{prefix}{entry.name}/" for entry in found if entry.is_dir()]
    return [*(f"{prefix}{entry.name}" for entry in found if entry.suffix in suffixes), *folders]


Root = Annotated[
    str | None,
    Parameter(
        name="--root",
        metavar="DIR",
        help="Directory of the project. Default: the nearest project from here upwards.",
    ),
]
Json = Annotated[bool, Parameter(name="--json", help="Print one JSON object on stdout.")]
Machine = Annotated[
    str, Parameter(help="A `.workflow` file, a workflow name, or `-` for stdin.", completer=machine_names)
]
Machines = Annotated[
    str,
    Parameter(
        help="`.workflow` files, directories of them, workflow names, or `-`.", completer=machine_names
    ),
]
Workflow = Annotated[str, Parameter(help="A workflow, or a workflow file.", completer=workflow_names)]
Workflows = Annotated[
    str,
    Parameter(
        help="Files, directories of them, workflow names. Default: all of the project's and yours.",
        completer=workflow_names,
    ),
]
Out = Annotated[
    str | None,
    Parameter(
        name=["--output", "-o"],
        metavar="OUT",
        help="Output file; `-` is stdout, the default.",
        allow_leading_hyphen=True,
    ),
]
Obfuscate = Annotated[
    bool, Parameter(name="--obfuscate", help="Replace state names by tokens, made with the project's key.")
]
StateName = Annotated[str | None, Parameter(completer=state_names)]
SchemaName = Literal[
    "workflow", "plan", "state", "commit-info", "test-manifest", "test-results", "run-summary"
]
"""`workflow` is a definition; the other names are handoff files."""


def run_ids(context: CompletionContext) -> list[str]:
    """Complete the short ids of the newest runs."""
    from tideate_core.app import reader_of, short_id

    return [short_id(run.id) for run in reader_of(None).runs(limit=100)]


def review_targets(context: CompletionContext) -> list[str]:
    """Complete git refs, snapshots and paths for a review."""
    from tideate_core.app import open_project, review_names

    folder = Path(os.path.dirname(context.incomplete))  # noqa: PTH120 of `a/` it is `a`
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    paths = [f"{path}/" if path.is_dir() else str(path) for path in found]
    return [*run_async(review_names(open_project(None).root)), *paths]


def run_steps(context: CompletionContext) -> list[str]:
    """Complete the ids of ended runs; after a point, the steps of the named run."""
    from tideate_core.app import reader_of, short_id
    from tideate_core.errors import TideateError

    reader, (run, point, _) = reader_of(None), context.incomplete.partition(".")
    if not point:
        return [short_id(one.id) for one in reader.runs(limit=100) if one.ended]
    try:
        return [f"{run}.{row.step}" for row in reader.steps(reader.run(run).id)]
    except TideateError:
        return []  # unknown or ambiguous id


Inputs = Annotated[
    tuple[str, ...],
    Parameter(name=["--input", "-i"], metavar="KEY=VALUE", help="Input of the workflow; repeatable."),
]
FileRange = Annotated[
    str | None,
    Parameter(
        name="--file",
        metavar="PATH[:FIRST-LAST]",
        help="File to work on, or a range of its lines; `-`: stdin.",
    ),
]
Positive = validators.Number(gte=0)
RunId = Annotated[str, Parameter(help="ID of the run, or a prefix of it.", completer=run_ids)]
RunStep = Annotated[
    str,
    Parameter(
        name="RUN[.STEP]",
        help="ID of the run, or a prefix of it, and the step to begin with. Default: the first that failed.",
        completer=run_steps,
    ),
]
Limit = Annotated[int, Parameter(name="--limit", help="Maximum number to list.", validator=Positive)]
Wait = Annotated[
    float, Parameter(name="--wait", help="Seconds to wait until it is done.", validator=Positive)
]
Yes = Annotated[
    bool | None, Parameter(name="--yes", negative="--no", help="Accept every confirmation; --no declines.")
]
AtGate = Annotated[
    Literal["ask", "leave"] | None,
    Parameter(
        name="--at-gate",
        help="At a question that needs a person: ask here, or leave the run for a reviewer elsewhere, with "
        "exit status 4. Default: `[ci] at_gate` without a terminal, else ask.",
    ),
]
Remotes = Annotated[
    str, Parameter(name="REMOTE", help="Name or address of a remote. Default: all remotes of the project.")
]
Called = Annotated[
    str | None,
    Parameter(name="--name", help="Name of the workflow on stdin; its tokens depend on the name."),
]
Current = Annotated[StateName, Parameter(name="--current", help="Mark this state.")]
RUN_HELP: Final = """Run a workflow.

Progress goes to stderr, the result to stdout. Without a terminal, confirmations are declined unless --yes.
At a terminal, each line that you type during the run is a message to the model before its next turn.

Edits of the bundled demonstration model are applied only after a person's review."""


def as_text(word: str, name: str) -> str:
    """Return a command-line word as text; decode it as UTF-8 if the locale could not.

    :param name: its name in the error message.
    :raises InvalidInput: the word is not UTF-8.
    """
    return decoded_text(os.fsencode(word), name) if not_utf8(word) else word


MOST_OF_STDIN: Final = 16 << 20
"""Maximum bytes of stdin for a prompt, a workflow or arguments."""


def read_stdin() -> str:
    """Read stdin as text.

    :raises InvalidInput: stdin is longer than `MOST_OF_STDIN`, or is neither UTF-8 nor in the locale's
        encoding.
    """
    data = sys.stdin.buffer.read(MOST_OF_STDIN + 1)
    if len(data) > MOST_OF_STDIN:
        raise InvalidInput(
            f"stdin has more than {MOST_OF_STDIN >> 20} MiB; give a part of it, or a file with `@file:PATH`"
        )
    text = decoded_text(data, "stdin")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def prompt_of(words: tuple[str, ...]) -> str:
    """Return the prompt from the command line or, for `-`, from stdin.

    :raises InvalidInput: the prompt is not UTF-8.
    """
    if words == (STDIN,):
        return read_stdin().strip()
    return " ".join(as_text(word, "the prompt") for word in words)


def decoded_text(data: bytes, name: str) -> str:
    """Decode bytes as UTF-8, else in the locale's encoding.

    :param name: name of the source in the error message.
    :raises InvalidInput: the bytes are valid in neither.
    """
    for encoding in ("utf-8", locale.getencoding()):
        if encoding.lower() not in ("ascii", "ansi_x3.4-1968"):
            with suppress(UnicodeDecodeError, LookupError):
                return data.decode(encoding)
    raise InvalidInput(f"{name} is not UTF-8: {data[:60]!r}; convert it, as with `iconv -t UTF-8`")


def parse_inputs(pairs: tuple[str, ...]) -> dict[str, JsonValue]:
    """Parse `KEY=VALUE` arguments; the values are strings.

    :raises InvalidInput: a pair has no key, or a key is repeated.
    """
    inputs: dict[str, JsonValue] = {}
    for pair in pairs:
        pair = as_text(pair, f"-i {visible(pair)}")
        key, found, value = pair.partition("=")
        if not found or not key:
            raise InvalidInput(f"-i {pair}: an input is given as KEY=VALUE")
        if key in inputs:
            raise InvalidInput(f"-i {pair}: the input {key!r} is given twice")
        inputs[key] = value
    return inputs
