"""Read and merge the configuration from the person's file, the project's file and `setup()`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from tideate_core.config.schema import Config, LimitsConfig
from tideate_core.errors import ConfigError, UnusableFile, did_you_mean
from tideate_core.project import CONFIG_NAME, Trust, config_dir, read_document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

__all__ = ["LoadedConfig", "load_config"]


GUARDED_KEYS = frozenset({"adapter", "adapters", "editor", "mcp", "telemetry", "verify"})
"""Keys of a project's file that send code elsewhere or run a program."""
OWN = {"state": "state is", "login": "logins are"}
"""Sections of the person's own file only, and what they say the place of."""
SPENT = ("cost_usd", "turns", "tool_calls", "tokens", "run_turns", "run_tool_calls", "run_tokens")
"""Limits of what a run may spend: a project's file may only lower them."""
WHOLE = frozenset({(0, "adapters"), (1, "servers")})
"""Sections, by depth, whose entries are replaced whole: a key never goes to another's address."""
REPLACED = frozenset({(0, "telemetry")})
"""Sections, by depth, that are replaced whole: content is sent only where who allowed it said."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration and where it came from."""

    config: Config
    sources: list[Path] = field(default_factory=list)
    """Files that were read, the weakest first."""
    notices: list[str] = field(default_factory=list)
    """Messages for the person: keys that were left out, and why."""
    untrusted_servers: tuple[str, ...] = ()
    """MCP servers that only a file names which is not trusted."""
    project_servers: tuple[str, ...] = ()
    """MCP servers that a trusted file of the project names."""


def load_config(
    root: Path | None, setup: Mapping[str, Any] | None = None, *, as_trusted: bool = False
) -> LoadedConfig:
    """Read the configuration: the person's file, then the project's, then `setup()`; later wins.

    Keys of a project's file that decide where code is sent, or that take a confirmation away, are used only
    if the person trusted that file's content.

    :param as_trusted: read the project's file as it counts once it is trusted; to show what it would do.
    :raises ConfigError: a file cannot be read, or a key is unknown or has a wrong value.
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
    if root is not None and (content := _of_project(root, notices)) is not None:
        path = root / CONFIG_NAME
        values = _parse(path, content)
        _validate(values, str(path))
        servers = set(values.get("mcp", {}).get("servers", {}))
        for section, what in OWN.items():
            if values.pop(section, None) is not None:
                words = f"only your own configuration says where {what} kept"
                notices.append(f"{path}: left out {section}: {words}")
        if as_trusted or Trust(root).is_trusted(CONFIG_NAME, content):
            of_team = servers
        else:
            values, left_out = _without_untrusted(values, merged)
            waiting = servers
            notices.extend(_untrusted_notice(path, left_out))
        merged = _merge(merged, values)
        sources.append(path)
    if setup:
        _validate(setup, "setup()")
        if "login" in setup:
            own_file = config_dir() / "config.toml"
            raise ConfigError(f"setup(): login: {own_file} says where logins are kept, for the shell, too")
        merged = _merge(merged, setup)
    waiting -= set(merged.get("mcp", {}).get("servers", {}))
    config = Config.model_validate(merged)
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
    kept = {key: value for key, value in values.items() if key not in GUARDED_KEYS}
    left_out = [key for key in values if key not in kept]
    if below.get("rules") is False and kept.get("rules"):
        del kept["rules"]  # who wants to send no words of projects is not overruled by one of them
        left_out.append("rules")
    workflows: dict[str, dict[str, Any]] = {}
    for name, section in values.get("workflows", {}).items():
        guarded = {"adapter", "tools", "states"}
        if not section.get("require_confirmation", True):
            guarded.add("require_confirmation")
        workflows[name] = {key: value for key, value in section.items() if key not in guarded}
        if "confirm" in section:  # may be added to, not be taken away
            kept_ones = below.get("workflows", {}).get(name, {}).get("confirm", [])
            workflows[name]["confirm"] = list(dict.fromkeys([*kept_ones, *section["confirm"]]))
        left_out.extend(f"workflows.{name}.{key}" for key in section if key in guarded)
    if workflows:
        kept["workflows"] = workflows
    raised = [key for key in SPENT if _raises(key, values, below)]
    if raised:
        kept["limits"] = {key: value for key, value in values["limits"].items() if key not in raised}
        left_out += [f"limits.{key}" for key in raised]
    return kept, left_out


def _raises(key: str, values: Mapping[str, Any], below: Mapping[str, Any]) -> bool:
    """Tell whether a run could spend more than the person lets it; less is anyone's to say.

    Where the person says nothing the default is theirs.
    """
    wanted, own = (source.get("limits", {}).get(key) for source in (values, below))
    if own is None:
        own = LimitsConfig.model_fields[key].default
    return wanted is not None and own is not None and wanted > own


def _untrusted_notice(path: Path, left_out: list[str]) -> list[str]:
    if not left_out:
        return []
    keys = ", ".join(left_out)
    return [
        f"{path}: left out {keys}: it could send code elsewhere, run a program, use tools, skip a question "
        "or spend more, and this file is not trusted. Read it, then run :Workflow trust or `tideate trust`"
    ]


def _merge(below: Mapping[str, Any], above: Mapping[str, Any], *, depth: int = 0) -> dict[str, Any]:
    """Merge two sources; what is in `WHOLE` and `REPLACED` is replaced whole."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if (depth, key) not in REPLACED and isinstance(old, dict) and isinstance(value, dict):
            merged[key] = {**old, **value} if (depth, key) in WHOLE else _merge(old, value, depth=depth + 1)
        else:
            merged[key] = value
    return merged
