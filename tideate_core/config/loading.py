"""Read and merge the configuration from the user's file, the project's file and `setup()`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from tideate_core.config.schema import Config
from tideate_core.config.untrusted import untrusted_part
from tideate_core.errors import ConfigError, UnusableFile, did_you_mean
from tideate_core.project import CONFIG_NAME, Trust, config_dir, read_document
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

OWN = ("state", "login", "agents", "inbox", "fleet")
"""Sections allowed only in the user's own configuration."""
IN_FILE = ("login", "agents", "inbox", "fleet")
"""Personal sections that `setup()` must not set, because the shell does not read it."""
WHOLE = frozenset({(0, "adapters"), (1, "servers")})
"""Sections, by depth, with entries replaced as a whole: a key never reaches another address."""
REPLACED = frozenset({(0, "telemetry")})
"""Sections, by depth, replaced as a whole: content only goes where its permission was given."""
MOST_NAMED = 50
"""Keys that one notice names."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """Configuration and its sources."""

    config: Config
    sources: list[Path] = field(default_factory=list)
    """Files that were read, the weakest first."""
    notices: list[str] = field(default_factory=list)
    """Messages for the user about ignored keys."""
    untrusted_servers: tuple[str, ...] = ()
    """MCP servers named only in an untrusted file."""
    project_servers: tuple[str, ...] = ()
    """MCP servers named in a trusted file of the project."""


def load_config(
    root: Path | None, setup: Mapping[str, Any] | None = None, *, as_trusted: bool = False
) -> LoadedConfig:
    """Read the configuration: the user's file, then the project's, then `setup()`; later wins.

    In an untrusted project file, only the keys of an allow-list count.

    :param as_trusted: read the project's file as if it were trusted, to show its effect.
    :raises ConfigError: a file is unreadable, or a key is unknown or has a wrong value.
    """
    merged: dict[str, Any] = {}
    sources: list[Path] = []
    notices: list[str] = []
    waiting: set[str] = set()
    of_team: set[str] = set()
    own = config_dir() / "config.toml"
    content = _read(own)
    if content is not None:
        merged = _parse(own, content)
        _validate(merged, str(own))
        sources.append(own)
    own_checks = set(merged.get("verify", {}))
    if root is not None and (content := _of_project(root, notices)) is not None:
        path = root / CONFIG_NAME
        values = _parse(path, content)
        _validate(values, str(path))
        servers = set(values.get("mcp", {}).get("servers", {}))
        notices += [
            f"{path}: ignored {section}: only your own configuration can set it"
            for section in OWN
            if values.pop(section, None) is not None
        ]
        if as_trusted or Trust(root).is_trusted(CONFIG_NAME, content):
            of_team = servers
        else:
            part = untrusted_part(values, merged)
            values, waiting = part.values, servers
            notices.extend(_waiting_notice(path, part.waiting))
        merged = _merge(merged, values)
        own_checks -= values.get("verify", {}).keys()
        sources.append(path)
    if setup:
        _validate(setup, "setup()")
        for section in IN_FILE:
            if section in setup:
                raise ConfigError(f"setup(): {section}: set it in {own}, which the shell reads, too")
        merged = _merge(merged, setup)
        own_checks |= (setup.get("verify") or {}).keys()
    waiting -= set(merged.get("mcp", {}).get("servers", {}))
    config = Config.model_validate(merged)
    config.verify.written_by_person(own_checks)
    return LoadedConfig(config, sources, notices, tuple(sorted(waiting)), tuple(sorted(of_team)))


def _of_project(root: Path, notices: list[str]) -> bytes | None:
    try:
        return read_document(root, CONFIG_NAME)
    except FileNotFoundError:
        return None
    except UnusableFile as error:
        notices.append(str(error))
        return None


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path)
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
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply") from error


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
    """Return the valid keys at the place of an unknown one."""
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


def waiting_keys(content: bytes) -> dict[str, Any]:
    """Return the values of a project's file that need trust, by dotted key.

    :raises ConfigError: the user's file cannot be read.
    :raises ValueError: the content is not UTF-8 or not TOML.
    """
    own = config_dir() / "config.toml"
    text = _read(own)
    try:
        values = tomllib.loads(content.decode("utf-8"))
    except RecursionError as error:
        raise ConfigError(f"{CONFIG_NAME}: nested too deeply") from error
    for section in OWN:
        values.pop(section, None)
    return untrusted_part(values, _parse(own, text) if text is not None else {}).waiting


def _waiting_notice(path: Path, waiting: Collection[str]) -> list[str]:
    if not waiting:
        return []
    named = ", ".join(list(waiting)[:MOST_NAMED])
    more = f" and {len(waiting) - MOST_NAMED:,} more" if len(waiting) > MOST_NAMED else ""
    return [
        f"{path}: ignored {named}{more}: this file is not trusted. Until then it can only add "
        "questions and lower limits. Read it, then run :Workflow trust or `tideate trust`"
    ]


def _merge(below: Mapping[str, Any], above: Mapping[str, Any], *, depth: int = 0) -> dict[str, Any]:
    """Merge two sources; entries in `WHOLE` and `REPLACED` are replaced as a whole."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if (depth, key) not in REPLACED and isinstance(old, dict) and isinstance(value, dict):
            merged[key] = {**old, **value} if (depth, key) in WHOLE else _merge(old, value, depth=depth + 1)
        else:
            merged[key] = value
    return merged
