"""One schema for the configuration, read from the person's file, the project's file and `setup()`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tideate_core.errors import ConfigError, did_you_mean
from tideate_core.project import Trust, config_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

__all__ = [
    "AdapterConfig",
    "Config",
    "History",
    "Limits",
    "LoadedConfig",
    "Snapshots",
    "Ui",
    "Verify",
    "WorkflowConfig",
    "load",
]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AdapterConfig(_Section):
    """`[adapters.NAME]`: a server that speaks OpenAI's chat completions."""

    base_url: str = Field(pattern=r"^https?://\S+$")
    model: str = Field(min_length=1)
    api_key_env: str | None = Field(default=None, min_length=1)
    """Environment variable that holds the key."""
    api_key_command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments whose first line of output is the key; no shell."""
    context_tokens: int | None = Field(default=None, ge=256)
    """Tokens that prompt and answer share."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds without a byte from the server after which a request fails."""

    @model_validator(mode="after")
    def _one_source_of_the_key(self) -> Self:
        if self.api_key_env and self.api_key_command:
            raise ValueError("give api_key_env or api_key_command, not both")
        return self


class WorkflowConfig(_Section):
    """`[workflows.NAME]`."""

    adapter: str | None = Field(default=None, min_length=1)
    require_confirmation: bool | None = None
    confirm: list[str] | None = None
    """Of a machine: states that are entered only after a question, beside those it names itself."""


class Ui(_Section):
    """`[ui]`."""

    output: Literal["float", "split", "vsplit", "tab"] = "float"
    border: str = "rounded"
    notify: bool = True


class Limits(_Section):
    """`[limits]`."""

    max_file_kib: int = Field(default=2048, ge=1)
    """Largest file that is read or written, in KiB."""
    attempts: int = Field(default=3, ge=1, le=10)
    """How often a model may try until its answer is usable."""
    mention_tokens: int = Field(default=16_000, ge=100)
    """Tokens of the material that the mentions of a prompt bring (`@Name`), at four characters each."""
    concurrency: int = Field(default=4, ge=1, le=64)
    """Steps, or files of a step, that one run works on at the same time."""
    max_moves: int = Field(default=100, ge=1, le=10_000)
    """How many moves a machine may make; the move to the exit is free."""
    max_visits: int = Field(default=10, ge=1, le=1000)
    """How often a machine may come to the same state."""


class History(_Section):
    """`[history]`: which ended runs `tideate history --prune` keeps."""

    keep_runs: int | None = Field(default=1000, ge=0)
    """The newest of every workflow."""
    max_age_days: float | None = Field(default=None, gt=0)
    """None: however old they are."""
    max_mib: int | None = Field(default=None, ge=0)
    """Of the files with large results, in MiB; None: however many there are."""


def _command(value: Any) -> Any:
    words = isinstance(value, list) and value and all(isinstance(word, str) for word in value)
    if value is None or value == "off" or (words and value[0]):
        return value
    raise ValueError('give a list of program and arguments, as ["make", "test"], or "off"')


CheckCommand: TypeAlias = Annotated[list[str] | Literal["off"] | None, BeforeValidator(_command)]
"""Program and arguments, no shell; "off": the project has no such check; None: what is detected."""


class Verify(_Section):
    """`[verify]`: the commands of gate 5, which run from the project's root."""

    type_check: CheckCommand = None
    lint: CheckCommand = None
    tests: CheckCommand = None
    build: CheckCommand = None
    documentation: CheckCommand = None
    timeout: float = Field(default=600.0, gt=0)
    """Seconds for each of them."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables that they get beside the few that every program gets."""
    inherit: list[str] = Field(default_factory=list)
    """Names of variables of ours that they get too."""


class Snapshots(_Section):
    """`[snapshots]`: how much of a project they take in, and how many are kept."""

    keep: int = Field(default=10, ge=1)
    """The newest."""
    max_file_mib: int = Field(default=100, ge=1)
    """Larger files are left out, which is said; in MiB."""
    max_total_mib: int = Field(default=4096, ge=1)
    """What does not fit is left out, which is said; in MiB."""
    ignored_directories: bool = False
    """Take in also what is in directories that git ignores."""


class Config(_Section):
    """All of it; every key has a default."""

    adapter: str = Field(default="local", min_length=1)
    adapters: dict[str, AdapterConfig] = Field(default_factory=dict)
    workflows: dict[str, WorkflowConfig] = Field(default_factory=dict)
    ui: Ui = Ui()
    limits: Limits = Limits()
    history: History = History()
    snapshots: Snapshots = Snapshots()
    verify: Verify = Verify()

    @model_validator(mode="after")
    def _names_that_can_be_told_apart(self) -> Self:
        for name in self.adapters:
            if name == "local":
                raise ValueError("adapters.local: 'local' is the bundled model; choose another name")
            if ":" in name:
                raise ValueError(f"adapters: the name {name!r} has a colon, which stands for PROVIDER:MODEL")
        return self

    def adapter_for(self, workflow: str) -> str:
        """Return the name of the adapter that a workflow uses."""
        own = self.workflows.get(workflow)
        return (own.adapter if own else None) or self.adapter


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration and where it came from."""

    config: Config
    sources: list[Path] = field(default_factory=list)
    """Files that were read, the weakest first."""
    notices: list[str] = field(default_factory=list)
    """What a person should be told: keys that were left out, and why."""


def load(root: Path | None, setup: Mapping[str, Any] | None = None) -> LoadedConfig:
    """Read the configuration: the person's file, then the project's, then `setup()`; later wins.

    Keys of a project's file that decide where code is sent, or that take a confirmation away, are used only
    if the person trusted that file's content.

    :raises ConfigError: a file cannot be read, or a key is unknown or has a wrong value.
    """
    merged: dict[str, Any] = {}
    sources: list[Path] = []
    notices: list[str] = []
    for path, of_project in _files(root):
        content = _read(path)
        if content is None:
            continue
        values = _parse(path, content)
        _validate(values, str(path))
        if of_project and not Trust().is_trusted(path, content):
            values, left_out = _without_untrusted(values, merged)
            notices.extend(_untrusted_notice(path, left_out))
        merged = _merge(merged, values)
        sources.append(path)
    if setup:
        _validate(setup, "setup()")
        merged = _merge(merged, setup)
    return LoadedConfig(Config.model_validate(merged), sources, notices)


def _files(root: Path | None) -> Iterator[tuple[Path, bool]]:
    yield config_dir() / "config.toml", False
    if root is not None:
        yield root / ".tideate" / "config.toml", True


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def _parse(path: Path, content: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def _validate(values: Mapping[str, Any], source: str) -> None:
    try:
        Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError("\n".join(_describe(source, detail) for detail in error.errors())) from error


def _describe(source: str, detail: ErrorDetails) -> str:
    location = [str(part) for part in detail["loc"]]
    key = ".".join(location)
    if detail["type"] == "extra_forbidden":
        return f"{source}: unknown key {key!r}{did_you_mean(location[-1], _keys_beside(location))}"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "missing":
        return f"{source}: {key}: this key is required"
    where = f"{source}: {key}" if key else source
    return f"{where}: {message[:1].lower()}{message[1:]}"


def _keys_beside(location: list[str]) -> list[str]:
    """Return the keys that are known where an unknown one stands."""
    section: type[BaseModel] = Config
    for part in location[:-1]:
        if part not in section.model_fields:
            continue  # the name of an adapter or a workflow
        annotation = section.model_fields[part].annotation
        candidates = [annotation, *get_args(annotation)]
        section = next(
            (kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)), section
        )
    return list(section.model_fields)


def _without_untrusted(values: dict[str, Any], below: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    kept = {key: value for key, value in values.items() if key not in ("adapter", "adapters", "verify")}
    left_out = [key for key in values if key not in kept]
    workflows: dict[str, dict[str, Any]] = {}
    for name, section in values.get("workflows", {}).items():
        guarded = (
            {"adapter"} if section.get("require_confirmation", True) else {"adapter", "require_confirmation"}
        )
        workflows[name] = {key: value for key, value in section.items() if key not in guarded}
        if "confirm" in section:  # may be added to, not be taken away
            kept_ones = below.get("workflows", {}).get(name, {}).get("confirm", [])
            workflows[name]["confirm"] = list(dict.fromkeys([*kept_ones, *section["confirm"]]))
        left_out.extend(f"workflows.{name}.{key}" for key in section if key in guarded)
    if workflows:
        kept["workflows"] = workflows
    return kept, left_out


def _untrusted_notice(path: Path, left_out: list[str]) -> list[str]:
    if not left_out:
        return []
    keys = ", ".join(left_out)
    return [
        f"{path}: left out {keys}: it could send code elsewhere, run a program or skip a question, and this "
        "file is not trusted. Read it, then run :Workflow trust or `tideate trust`"
    ]


def _merge(below: Mapping[str, Any], above: Mapping[str, Any], *, depth: int = 0) -> dict[str, Any]:
    """Merge two sources; an adapter is replaced whole, so that a key never goes to another's server."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = (
                {**old, **value} if depth == 0 and key == "adapters" else _merge(old, value, depth=depth + 1)
            )
        else:
            merged[key] = value
    return merged
