"""Effects of trust: commands, servers and workflows that a project's files can start once trusted."""

from __future__ import annotations

import json
import shlex
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.config import waiting_keys
from tideate_core.errors import TideateError
from tideate_core.project import CONFIG_NAME
from tideate_core.toolchain import Check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.workflows import Catalog

DESCRIBED: Final = frozenset(
    {"mcp.servers", "telemetry.otlp", *(f"verify.{key}" for key in (*Check, "environment", "inherit"))}
)
"""Settings described by their own phrases."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Effects of trust in one file."""

    words: tuple[str, ...] = ()
    """Imperative phrases; empty if nothing in the file needs trust."""
    mistake: str = ""
    """Reason why the effects are unknown, so that the file cannot be trusted."""


def effects_of(root: Path, name: str, content: bytes, catalog: Catalog) -> Effects:
    """Return the effects of trust in a file's content.

    :param name: path relative to the root.
    """
    try:
        if name == CONFIG_NAME:
            return Effects(tuple(_of_configuration(root, content)))
        if name.startswith(".tideate/prompts/"):
            return Effects((f"change what models are asked: the prompt {(root / name).stem!r}",))
        if name.startswith(".tideate/agents/"):
            return Effects(tuple(_of_role(root / name, content)))
        return Effects(tuple(_of_definition(root / name, content, catalog)))
    except UnicodeDecodeError:
        return Effects(mistake="it is not UTF-8")
    except ValueError as error:
        return Effects(mistake=f"it is not valid TOML ({error})")
    except TideateError as error:
        return Effects(mistake=str(error).partition("\n")[0])


def _of_configuration(root: Path, content: bytes) -> list[str]:
    values = tomllib.loads(content.decode("utf-8"))
    found = [
        *_of_adapters(root, values),
        *_of_servers(root, _section(_section(values, "mcp"), "servers")),
        *_of_checks(root, _section(values, "verify")),
        *_of_workflows(_section(values, "workflows")),
    ]
    telemetry = _section(values, "telemetry")
    if address := _key(telemetry, "otlp"):
        whole = telemetry.get("content") is True
        words = "with prompts, answers and arguments" if whole else "without prompts and answers"
        found.append(f"send traces of runs, {words}, to {address}")
    for key, value in waiting_keys(content).items():
        if not key.startswith(("adapter", "workflows.")):
            found += [f"set {name} to {word}" for name, word in _settings(key, value)]
    return found


def _settings(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield settings without a phrase of their own, with their values as JSON."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if f"{key}.{name}" not in DESCRIBED:
                yield from _settings(f"{key}.{name}", inner)
    else:
        yield key, json.dumps(value, ensure_ascii=False)


def _section(values: dict[str, Any], key: str) -> dict[str, Any]:
    section = values.get(key)
    return section if isinstance(section, dict) else {}


def _of_adapters(root: Path, values: dict[str, Any]) -> Iterator[str]:
    if "adapter" in values:
        yield f"send code to the model adapter {values['adapter']!r} by default"
    adapters = _section(values, "adapters")
    for name in adapters:
        adapter = _section(adapters, name)
        if command := _command(root, adapter, "acp"):
            options = "".join(f", {key} {value}" for key, value in _section(adapter, "options").items())
            yield f"start {command} as the agent {name!r}{options}, and send code to it"
            continue
        address, model = _key(adapter, "base_url"), _key(adapter, "model")
        yield f"send code to {address or 'the provider'} (adapter {name!r}, model {model})"
        if command := _command(root, adapter, "api_key_command"):
            yield f"run {command} for the key of the adapter {name!r}"
        if variable := _key(adapter, "api_key_env"):
            yield f"send the key in ${variable} to it"
        if headers := _section(adapter, "headers"):
            yield f"send it the headers {', '.join(map(str, headers))}"  # no values: they may be keys
        if extra := _section(adapter, "extra_body"):
            yield f"add to every request to it: {', '.join(map(str, extra))}"


def _of_servers(root: Path, servers: dict[str, Any]) -> Iterator[str]:
    for name in servers:
        server = _section(servers, name)
        if command := _command(root, server, "command"):
            yield f"start {command} as the MCP server {name!r}"
        elif url := _key(server, "url"):
            yield f"connect to {url} as the MCP server {name!r}"
        if command := _command(root, server, "token_command"):
            yield f"run {command} for the token of the MCP server {name!r}"
        if variable := _key(server, "token_env"):
            yield f"send the token in ${variable} to it"
        if server.get("permissions") is not None:
            allowed = ", ".join(map(str, server["permissions"])) or "none"
            yield f"let these tools of the MCP server {name!r} be used: {allowed}"
        if server.get("enabled") is False:
            yield f"leave out the MCP server {name!r}"
        if inherited := server.get("inherit"):
            yield f"give it the variables {', '.join(map(str, inherited))} of your environment"
        for variable, value in _section(server, "environment").items():
            yield f"set {variable}={value} for the MCP server {name!r}"


def _of_checks(root: Path, verify: dict[str, Any]) -> Iterator[str]:
    for check in Check:
        if command := _command(root, verify, check):
            yield f"run {command} ({check})"
        elif verify.get(check) == "off":
            yield f"turn off the check {check}"
    for variable, value in _section(verify, "environment").items():
        yield f"set {variable}={value} for these commands"
    if verify.get("inherit"):
        names = ", ".join(map(str, verify["inherit"]))
        yield f"give these commands the variables {names} of your environment"


def _of_workflows(workflows: dict[str, Any]) -> Iterator[str]:
    for name in workflows:
        section = _section(workflows, name)
        if adapter := _key(section, "adapter"):
            yield f"send code to the model adapter {adapter!r} in the workflow {name!r}"
        if section.get("require_confirmation") is False:
            yield f"skip the confirmations of the workflow {name!r}"
        if tools := section.get("tools"):
            yield f"let models use the tools {_listed(tools)} in the states of the workflow {name!r}"
        states = _section(section, "states")
        for state in states:
            if tools := _section(states, state).get("tools"):
                yield f"let models use the tools {_listed(tools)} in the state {state!r} of {name!r}"


def _key(section: dict[str, Any], key: str) -> str:
    return str(section.get(key) or "")


def _command(root: Path, section: dict[str, Any], key: str) -> str:
    value = section.get(key)
    if not isinstance(value, list) or not value:
        return ""
    words = [str(word) for word in value]
    files = [word for word in words if not word.startswith("-") and _is_file(root, word)]
    note = f" (with the then content of {', '.join(files)} in this project)" if files else ""
    return f"`{shlex.join(words)}`{note}"


def _is_file(root: Path, word: str) -> bool:
    try:
        return (root / word).is_file() and (root / word).is_relative_to(root)
    except (OSError, ValueError):
        return False


def _of_role(path: Path, content: bytes) -> list[str]:
    # here, because most projects have no roles of their own
    from tideate_core.agents import read_role

    keys = read_role(path, content).keys
    found = [f"change the words of the agent {path.stem!r}"]
    words = {
        "description": "tell other agents of it: {}",
        "adapter": "send its code to the model adapter {}",
        "tools": "let it use the tools {}",
        "agents": "let it give tasks to the agents {}",
        "tokens": "let it spend {} tokens",
        "timeout": "let it take {} ms",
        "output_schema": "have its answers fit {}",
    }
    found += [words[key].format(_listed(value)) for key, value in keys.items() if key in words]
    return found


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _of_definition(path: Path, content: bytes, catalog: Catalog) -> list[str]:
    from tideate_core.workflows import is_definition_path, parse_definition

    if not is_definition_path(path.name):
        return []
    definition = parse_definition(path, content.decode("utf-8"), catalog.known_names(path)).require()
    found = [f"step {step.id!r}: {step.effect}" for step in definition.steps if step.effect]
    return found or [f"run the workflow {definition.name!r}, which only prompts models and needs no trust"]
