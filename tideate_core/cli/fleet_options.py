"""Shared options and helpers of `submit`, `fleet` and `schedule`."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter, validators
from pydantic import ValidationError

from tideate_core.errors import ConfigError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tideate_core.fleet import Fleet, Schedule, SignedSubmission, Submission


PLACE: Final = "{}"
"""Placeholder for a line of `--each`."""

Repo = Annotated[
    str, Parameter(name="--repo", metavar="URL", help="Git repository; the workers need access to it.")
]
Ref = Annotated[
    str, Parameter(name="--ref", metavar="REF", help="Branch or tag to begin with. Default: HEAD.")
]
AdapterName = Annotated[
    str | None,
    Parameter(name="--adapter", metavar="NAME", help="Adapter in the configuration of the workers."),
]
QueueName = Annotated[
    str, Parameter(name="--queue", metavar="Q", help="Queue of the workers. Default: tideate.")
]
Priority = Annotated[
    int,
    Parameter(
        name="--priority",
        metavar="N",
        help="Lower numbers run first. Default: 100.",
        validator=validators.Number(gte=1),
    ),
]
Timeout = Annotated[
    int | None,
    Parameter(
        name="--timeout",
        metavar="SECONDS",
        help="Cancel the run if it works this long without a question.",
        validator=validators.Number(gte=1),
    ),
]
Accept = Annotated[bool, Parameter(name="--yes", help="Accept plans and reviews without a question.")]
Land = Annotated[
    bool,
    Parameter(name="--land", negative="--no-land", help="Push accepted changes as a branch. Default: yes."),
]


@contextmanager
def opened_fleet() -> Iterator[Fleet]:
    """Open the configured fleet; blocking.

    :raises ConfigError: none is configured.
    :raises FleetError: it cannot be reached.
    """
    from tideate_core import config
    from tideate_core.cli.process import run_async
    from tideate_core.fleet import Fleet, database_url

    fleet = Fleet(run_async(database_url(config.load_config(None).config.fleet)))
    try:
        yield fleet
    finally:
        fleet.close()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A submission before it is signed."""

    fields: Mapping[str, Any]
    key: str | None = None
    """Submissions with the same key are one run."""
    schedule: Schedule | None = None

    def signed(self, each: Sequence[str] | None = None) -> list[SignedSubmission]:
        """Return the signed submissions, one for each line; blocking.

        :param each: lines that replace `{}`; None: one submission.
        :raises InvalidInput: a value is invalid, or nothing contains `{}`.
        :raises ConfigError: there is no key to sign with, or no author.
        :raises RemoteFailed: git cannot reach a repository, or it has no such ref.
        """
        from tideate_core.fleet import SignedSubmission

        if each is not None and PLACE not in repr(dict(self.fields)):
            raise InvalidInput(f"--each needs a placeholder: write {PLACE} in the prompt or an option")
        lines = [None] if each is None else [*each]
        common = {**self.fields, "by": _author(), "at": time.time_ns() // 1_000_000}
        wanted = [self._submission(common, line) for line in lines]
        key = _key()
        if self.schedule is None:
            wanted = _pinned(wanted)
        return [SignedSubmission.make(one, key) for one in wanted]

    def _submission(self, common: Mapping[str, Any], line: str | None) -> Submission:
        from tideate_core.fleet import Submission

        run = uuid.uuid4().hex
        if self.key is not None:
            run = hashlib.sha256(f"{self.key}\0{line or ''}".encode()).hexdigest()[:32]
        try:
            return Submission(
                **{name: _filled(value, line) for name, value in common.items()},
                run=run,
                schedule=self.schedule,
            )
        except ValidationError as error:
            detail = error.errors()[0]
            where = ".".join(map(str, detail["loc"]))
            message = detail["msg"].removeprefix("Value error, ")
            raise InvalidInput(f"{where}: {message}") from error


def _filled(value: Any, line: str | None) -> Any:
    if line is None:
        return value
    if isinstance(value, str):
        return value.replace(PLACE, line)
    return {name: _filled(one, line) for name, one in value.items()} if isinstance(value, dict) else value


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


def _key() -> Any:
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

    :raises InvalidInput: the file cannot be read, or has no such lines.
    """
    from tideate_core.project import expand_home
    from tideate_core.util.escaping import label

    try:
        text = expand_home(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--each {label(path)} cannot be read: {error}") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise InvalidInput(f"--each {label(path)} has no lines")
    return lines
