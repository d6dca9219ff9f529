"""Signed submissions: requests for one run of a fleet, or for all runs of a schedule."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from tideate_core.errors import ConfigError, SubmissionRefused
from tideate_core.fleet.addresses import check_address
from tideate_core.process import fingerprint_of, sign_data, signing_key
from tideate_core.project import expand_home
from tideate_core.util.escaping import visible
from tideate_core.workflows import is_workflow_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

NAMESPACE: Final = "tideate-submission"
"""Namespace of the signature, so that a signature made for git or a login never counts."""
_REF: Final = re.compile(r"[^\s~^:?*\[\\-][^\s~^:?*\[\\]*")
QUEUE: Final = r"[A-Za-z][A-Za-z0-9_.-]{0,60}"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
LARGEST: Final = 1 << 20
"""Maximum characters of a prompt."""
_DAY: Final = 86_400_000
_VALID: Final = 30 * _DAY
_VALID_SCHEDULE: Final = 365 * _DAY
"""Milliseconds in which a submission is valid."""


class Schedule(BaseModel):
    """Times of the runs of a template."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=200)
    cron: str = Field(min_length=1, max_length=200)
    zone: str | None = Field(default=None, max_length=100)
    """Time zone of the cron expression; None: UTC."""

    @field_validator("name", "cron", "zone")
    @classmethod
    def _check_line(cls, text: str | None) -> str | None:
        return None if text is None else _one_line(text)

    def time_of(self, scheduled: str) -> int | None:
        """Return a time of this schedule in milliseconds since the epoch; None if it has no such time.

        :param scheduled: the time as `scheduled_time` writes it.
        """
        from croniter import CroniterError, croniter  # the library that DBOS reads the expression with

        try:
            at = datetime.fromisoformat(scheduled)
            local = at.astimezone(ZoneInfo(self.zone) if self.zone else UTC)
            # without its own precision, it matches all seconds of a minute
            if not croniter.match(self.cron, local, second_at_beginning=True, precision_in_seconds=1):
                return None
        except (CroniterError, ZoneInfoNotFoundError, ValueError, OverflowError):
            return None
        return int(at.timestamp() * 1000) if scheduled == scheduled_time(at) else None


def scheduled_time(at: datetime) -> str:
    """Return the one form of a time of a schedule."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


def _one_line(text: str) -> str:
    check_text(text)
    if not text.isprintable():
        raise ValueError("give one line without control characters")
    return text


def check_text(text: str) -> None:
    """Check that a text has only characters that a database can store and a terminal can show.

    :raises ValueError: it has others.
    """
    if found := _CONTROL.search(text):
        raise ValueError(f"remove the control character U+{ord(found[0]):04X}")


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield the texts of a JSON value, with the names of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        parts = value if isinstance(value, list) else [*value, *value.values()]
        for part in parts:
            yield from _texts(part)


class Submission(BaseModel):
    """Request for a run; the signature covers every field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = Field(default=1, ge=1, le=1)
    run: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern=r"^[0-9a-f]{32}$")
    """Id of the run; for a template, the id from which the ids of its runs derive."""
    workflow: str = Field(min_length=1, max_length=200)
    """Name of a workflow, never a path."""
    prompt: str = Field(default="", max_length=LARGEST)
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    repo: str = Field(min_length=1, max_length=2000)
    ref: str = Field(default="HEAD", min_length=1, max_length=500)
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40,64}$")
    """Commit of the ref at the time of the submission; None: pinned by the worker that prepares the run."""
    adapter: str | None = Field(default=None, min_length=1, max_length=200)
    """Adapter of the worker's configuration; None: the worker's choice for the workflow."""
    accept: bool = False
    """Accept plans and reviews without a question."""
    land: bool = True
    """Push accepted changes as the branch `tideate/RUN`."""
    queue: str = Field(default="tideate", pattern=f"^{QUEUE}$")
    priority: int = Field(default=100, ge=1, le=1_000_000)
    """Smaller numbers run first."""
    timeout: int | None = Field(default=None, ge=1, le=30 * 86_400)
    """Maximum seconds that the run works, without the time in which it waits; None: no limit."""
    by: str = Field(min_length=1, max_length=300)
    """Author of the run's commits, as `NAME <ADDRESS>`."""
    with_secrets: bool = False
    """Prompt and inputs may hold secrets, which bundles then include."""
    at: int = Field(ge=0, lt=1 << 43)
    """Time of the submission in milliseconds since the epoch."""
    schedule: Schedule | None = None
    """The submission describes the runs of this schedule and is not a run itself."""
    expires: int = Field(default_factory=lambda data: _expiry(data), ge=0, lt=1 << 43)
    """Time after which no leg of the run begins to work. Default: 30 days, of a schedule a year."""

    @field_validator("workflow")
    @classmethod
    def _check_workflow(cls, name: str) -> str:
        if is_workflow_path(name) or name.startswith("~"):
            raise ValueError("give the name of a workflow that the workers have, not a path")
        return _one_line(name)

    @field_validator("adapter")
    @classmethod
    def _check_adapter(cls, adapter: str | None) -> str | None:
        return None if adapter is None else _one_line(adapter)

    @field_validator("workflow", "prompt", "inputs", "repo", "ref", "adapter", "by")
    @classmethod
    def _check_texts(cls, value: JsonValue) -> JsonValue:
        for text in _texts(value):
            check_text(text)
        return value

    @field_validator("repo")
    @classmethod
    def _check_repository(cls, repo: str) -> str:
        return _one_line(check_address(repo))

    @field_validator("ref")
    @classmethod
    def _check_ref(cls, ref: str) -> str:
        if not _REF.fullmatch(ref) or ".." in ref:
            raise ValueError("give a branch, a tag or HEAD")
        return _one_line(ref)

    @field_validator("by")
    @classmethod
    def _check_author(cls, by: str) -> str:
        if not re.fullmatch(r"[^<>\n\0]+ <[^<>\s\0]+>", by):
            raise ValueError("give NAME <ADDRESS>")
        return _one_line(by)

    def canonical(self) -> bytes:
        """Return the signed bytes: JSON with sorted keys."""
        shape = self.model_dump(mode="json")
        text = json.dumps(shape, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return text.encode("ascii")

    def digest(self) -> str:
        """Return the digest of the signed bytes."""
        return hashlib.sha256(self.canonical()).hexdigest()

    def fired(self, at: str) -> str:
        """Return the id of a template's run.

        :param at: the scheduled time; the same time always gives the same id.
        """
        return hashlib.sha256(f"{self.run} {at}".encode()).hexdigest()[:32]


def _expiry(data: dict[str, Any]) -> int:
    # a field before it may be invalid, and then missing
    valid = _VALID if data.get("schedule") is None else _VALID_SCHEDULE
    return min(int(data.get("at", 0)) + valid, (1 << 43) - 1)


class SignedSubmission(BaseModel):
    """A submission with its signature, as it is stored in the database."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    submission: Submission
    signature: str = Field(max_length=16 << 10)

    @classmethod
    def make(cls, submission: Submission, key: Path) -> Self:
        """Sign a submission; blocking.

        :raises CommandError: the key cannot be used.
        """
        return cls(submission=submission, signature=sign_data(submission.canonical(), key, NAMESPACE))

    @classmethod
    def read(cls, shape: object) -> Self:
        """Validate a stored submission.

        :raises SubmissionRefused: it is malformed.
        """
        try:
            return cls.model_validate(shape)
        except ValidationError as error:
            detail = error.errors()[0]
            where = ".".join(map(str, detail["loc"]))
            raise SubmissionRefused(f"the submission is malformed: {where}: {detail['msg']}") from error

    def check(self, allowed: Sequence[str]) -> str:
        """Return the fingerprint of the key that signed it; blocking.

        :param allowed: `[fleet] allow`.
        :raises SubmissionRefused: the signature is wrong, or from a key that is not allowed.
        """
        run = self.submission.run[:8]
        key = signing_key(self.submission.canonical(), self.signature, NAMESPACE)
        if key is None:
            raise SubmissionRefused(f"run {run} is refused: its signature does not match the submission")
        if key not in allowed_fingerprints(allowed):
            raise SubmissionRefused(
                f"run {run} is refused: its key {key} is not in `[fleet] allow` of the worker"
            )
        return key

    async def checked(self, allowed: Sequence[str]) -> Submission:
        """Return the submission if its signature is valid and its key allowed; see `check`."""
        await asyncio.to_thread(self.check, allowed)
        return self.submission


def allowed_fingerprints(entries: Sequence[str]) -> frozenset[str]:
    """Return the fingerprints of an allow-list.

    :raises ConfigError: an entry is neither a fingerprint nor a public key.
    """
    found = {entry: fingerprint_of(entry) for entry in entries}
    for entry, key in found.items():
        if key is None:
            raise ConfigError(
                f"[fleet] allow: {visible(entry)!r} is neither a fingerprint (SHA256:…) nor a public key; "
                "`ssh-keygen -lf KEY.pub` prints the fingerprint of a key"
            )
    return frozenset(filter(None, found.values()))


def key_file(configured: str | None, of_git: str | None) -> Path:
    """Return the key that signs a person's submissions.

    :param configured: `[fleet] key`.
    :param of_git: `user.signingKey` of the person's own git configuration.
    :raises ConfigError: there is none.
    """
    named = configured or of_git
    if not named or named.startswith(("key::", "ssh-")):
        raise ConfigError(
            "submissions must be signed: set `[fleet] key` in your configuration to the file of your SSH key"
        )
    path = expand_home(named)
    if not path.is_file():
        raise ConfigError(f"the key {path} does not exist; `ssh-keygen -t ed25519 -f {path}` makes one")
    return path
