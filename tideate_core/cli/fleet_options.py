"""Shared options and helpers of `submit`, `fleet` and `schedule`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter, validators
from pydantic import ValidationError

from tideate_core.cli.arguments import Inputs, parse_inputs
from tideate_core.errors import ConfigError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cyclopts.completion import CompletionContext

    from tideate_core.fleet import Fleet, SignedSubmission, Submission


PLACE: Final = "{}"
"""Placeholder for a line of `--each`."""
_PAUSE: Final = 1.0
"""Seconds between two lines of progress."""


def _adapters(context: CompletionContext) -> list[str]:
    """Complete the names of configured adapters."""
    from tideate_core import config

    return sorted(config.load_config(None).config.adapters)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a run of a fleet."""

    repo: Annotated[
        str, Parameter(name="--repo", metavar="URL", help="Git repository; the workers need access to it.")
    ]
    ref: Annotated[
        str, Parameter(name="--ref", metavar="REF", help="Branch or tag to begin with. Default: HEAD.")
    ] = "HEAD"
    inputs: Inputs = ()
    adapter: Annotated[
        str | None,
        Parameter(
            name="--adapter",
            metavar="NAME",
            help="Adapter in the configuration of the workers. Default: theirs for the workflow.",
            completer=_adapters,
        ),
    ] = None
    queue: Annotated[
        str, Parameter(name="--queue", metavar="Q", help="Queue of the workers. Default: tideate.")
    ] = "tideate"
    priority: Annotated[
        int,
        Parameter(
            name="--priority",
            metavar="N",
            help="Lower numbers run first. Default: 100.",
            validator=validators.Number(gte=1),
        ),
    ] = 100
    timeout: Annotated[
        int | None,
        Parameter(
            name="--timeout",
            metavar="SECONDS",
            help="Fail the run if it works longer than this. Default: no limit.",
            validator=validators.Number(gte=1),
        ),
    ] = None
    accept: Annotated[bool, Parameter(name="--yes", help="Accept plans and reviews without a question.")] = (
        False
    )
    no_land: Annotated[
        bool, Parameter(name="--no-land", negative=(), help="Push no branch with the accepted changes.")
    ] = False
    with_secrets: Annotated[
        bool,
        Parameter(name="--with-secrets", help="Submit texts even if they seem to hold secrets."),
    ] = False


@contextmanager
def opened_fleet() -> Iterator[Fleet]:
    """Open the configured fleet; blocking.

    :raises ConfigError: none is configured.
    :raises FleetError: it cannot be reached.
    """
    from tideate_core import config
    from tideate_core.cli.process import run_async
    from tideate_core.fleet import database_url, require_library

    require_library()
    from tideate_core.fleet import Fleet  # here, because it imports the library

    fleet = Fleet(run_async(database_url(config.load_config(None).config.fleet)))
    try:
        yield fleet
    finally:
        fleet.close()


@dataclass(slots=True)
class Progress:
    """Prints lines on stderr about work that takes longer than a second."""

    words: str
    total: int
    _last: float = field(default_factory=time.monotonic)

    def __call__(self, done: int) -> None:
        """Tell the number of items that are done."""
        from tideate_core.cli.render.output import note

        if time.monotonic() - self._last >= _PAUSE:
            self._last = time.monotonic()
            note(f"{self.words} {done:,} of {self.total:,}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A submission before it is signed."""

    workflow: str
    prompt: str
    options: RunOptions
    key: str | None = None
    """Submissions of a person with the same key, workflow and repository are one run."""
    schedule: tuple[str, str, str | None] | None = None
    """Name, times and zone of the schedule; None: a single run."""

    def signed(self, each: Sequence[str] | None = None) -> list[SignedSubmission]:
        """Return the signed submissions, one for each line; blocking.

        :param each: lines that replace `{}`; None: one submission.
        :raises InvalidInput: a value is invalid or seems to hold a secret, or nothing contains `{}`.
        :raises ConfigError: there is no key to sign with, or no author.
        :raises RemoteFailed: git cannot reach a repository, or it has no such ref.
        """
        from tideate_core.fleet import SignedSubmission, require_library

        require_library()
        options = self.options
        if each is not None and PLACE not in repr((self.prompt, options.repo, options.ref, options.inputs)):
            raise InvalidInput(f"--each needs a placeholder: write {PLACE} in the prompt or an option")
        by, key = _author(), _key()
        wanted = [self._submission(by, key, line) for line in ([None] if each is None else each)]
        if not options.with_secrets:
            _refuse_secrets(wanted)
        if self.schedule is None:
            wanted = _pinned(wanted)
        tell, signed = Progress("signed", len(wanted)), []
        for one in wanted:
            signed.append(SignedSubmission.make(one, key))
            tell(len(signed))
        return signed

    def _submission(self, by: str, key: Path, line: str | None) -> Submission:
        from tideate_core.fleet import Schedule, Submission

        given = self.options
        repo, inputs = _filled(given.repo, line), parse_inputs(given.inputs)
        try:
            schedule = None
            if self.schedule is not None:
                name, cron, zone = self.schedule
                schedule = Schedule(name=name, cron=cron, zone=zone)
            return Submission(
                run=self._run(key, repo, line),
                workflow=self.workflow,
                prompt=_filled(self.prompt, line),
                inputs={name: _filled(value, line) for name, value in inputs.items()},
                repo=repo,
                ref=_filled(given.ref, line),
                adapter=given.adapter,
                queue=given.queue,
                priority=given.priority,
                timeout=given.timeout,
                accept=given.accept,
                land=not given.no_land,
                with_secrets=given.with_secrets,
                schedule=schedule,
                by=by,
                at=time.time_ns() // 1_000_000,
            )
        except ValidationError as error:
            detail = error.errors()[0]
            where = ".".join(map(str, detail["loc"]))
            message = detail["msg"].removeprefix("Value error, ")
            # from None: pydantic's words quote the value, which may be a secret
            raise InvalidInput(f"{where}: {message}") from None

    def _run(self, key: Path, repo: str, line: str | None) -> str:
        if self.key is None:
            return uuid.uuid4().hex
        from tideate_core.process import fingerprint_of_file

        bound = [fingerprint_of_file(key), repo, self.workflow, self.key, line]
        return hashlib.sha256(json.dumps(bound).encode()).hexdigest()[:32]


def _filled(value: Any, line: str | None) -> Any:
    if line is None:
        return value
    if isinstance(value, str):
        return value.replace(PLACE, line)
    return {name: _filled(one, line) for name, one in value.items()} if isinstance(value, dict) else value


def _refuse_secrets(wanted: Sequence[Submission]) -> None:
    from tideate_core.mentions import secrets_within

    for one in wanted:
        parts = {"prompt": one.prompt, "inputs": one.inputs, "repo": one.repo, "ref": one.ref}
        if found := [name for name, value in parts.items() if any(secrets_within(value))]:
            raise InvalidInput(
                f"the submission seems to hold secrets: {', '.join(found)}. Nothing was submitted. "
                "--with-secrets submits them, and then everyone who can read the database can read them"
            )


def _pinned(wanted: Sequence[Submission]) -> list[Submission]:
    """Return the submissions with the current commits of their refs."""
    from tideate_core.cli.process import run_async

    places = dict.fromkeys((one.repo, one.ref) for one in wanted)
    commits = run_async(_resolve(list(places)))
    return [one.model_copy(update={"commit": commits[one.repo, one.ref]}) for one in wanted]


async def _resolve(places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    from tideate_core.fleet import Repositories
    from tideate_core.project import state_dir

    repositories = Repositories(state_dir() / "fleet")
    limit = asyncio.Semaphore(4)

    async def resolve(repo: str, ref: str) -> str:
        async with limit:
            return await repositories.resolve(repo, ref)

    async with asyncio.TaskGroup() as group:
        tasks = {place: group.create_task(resolve(*place)) for place in places}
    return {place: task.result() for place, task in tasks.items()}


def _key() -> Path:
    from tideate_core import config
    from tideate_core.fleet import key_file

    return key_file(config.load_config(None).config.fleet.key, _persons("user.signingkey"))


def _author() -> str:
    name, mail = _persons("user.name"), _persons("user.email")
    if not name or not mail:
        raise ConfigError(
            "a submission needs an author: set `git config --global user.name` and `user.email`"
        )
    return f"{name} <{mail}>"


def _persons(key: str) -> str | None:
    """Return a setting of the person's own git configuration."""
    from pathlib import Path

    from tideate_core.git import parse_settings, run_git, without_repository

    here = Path("/")
    listed = run_git(without_repository(here), "config", "--list", "--show-scope", "-z", cwd=here)
    values = parse_settings(listed.out).person.get(key)
    return values[-1] if values else None


def each_line(path: str) -> list[str]:
    """Return the lines of a file that are not empty.

    :raises InvalidInput: the file cannot be read, has no such lines, or has control characters.
    """
    from tideate_core.fleet import check_text
    from tideate_core.project import expand_home
    from tideate_core.util.escaping import label

    try:
        text = expand_home(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--each {label(path)} cannot be read: {error}") from error
    lines = [line.strip().lstrip("\ufeff") for line in text.split("\n")]
    for number, line in enumerate(lines, start=1):
        try:
            check_text(line)
        except ValueError as error:
            raise InvalidInput(f"--each {label(path)}, line {number}: {error}") from error
    if not any(lines):
        raise InvalidInput(f"--each {label(path)} has no lines")
    return [line for line in lines if line]
