"""Options of an agent's session: its modes, models and other settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.acp.updates import one_line
from tideate_core.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_NAMED: Final = 30


@dataclass(frozen=True, slots=True)
class OfferedOption:
    """An option of a session."""

    id: str
    category: str
    """`model`, `mode`, `thought_level`, or another word of the agent."""
    name: str
    current: str | bool
    values: tuple[str, ...]
    """Empty for a switch."""


def offered_options(options: Any) -> tuple[OfferedOption, ...]:
    """Read the options that an agent offers, unchecked JSON."""
    found = []
    for one in options if isinstance(options, list) else ():
        if not isinstance(one, dict) or not isinstance(one.get("id"), str):
            continue
        current = one.get("currentValue")
        category = one.get("category")
        found.append(
            OfferedOption(
                one["id"],
                category if isinstance(category, str) else "",
                one_line(one.get("name")),
                current if isinstance(current, str | bool) else "",
                tuple(_values(one.get("options"))),
            )
        )
    return tuple(found)


def _values(options: Any) -> list[str]:
    values = []
    for one in options if isinstance(options, list) else ():
        if not isinstance(one, dict):
            continue
        if isinstance(one.get("options"), list):  # a group
            values += _values(one["options"])
        elif isinstance(one.get("value"), str):
            values.append(one["value"])
    return values


def find_setting(name: str, options: Sequence[OfferedOption], key: str, value: str | bool) -> OfferedOption:
    """Return the option with an id, or else with a category.

    :param name: the agent's name, for messages.
    :raises ConfigError: there is no such option, or it has no such value.
    """
    option = next((one for one in options if one.id == key), None)
    option = option or next((one for one in options if one.category == key), None)
    if option is None:
        known = ", ".join(dict.fromkeys(one.category or one.id for one in options)) or "none"
        raise ConfigError(f"the agent {name!r} has no option {key!r} (it has: {known})")
    if isinstance(value, str) and option.values and value not in option.values:
        shown = ", ".join(one_line(one) for one in option.values[:MOST_NAMED])
        near = did_you_mean(value, option.values)
        raise ConfigError(
            f"the option {key!r} of the agent {name!r} has no value {value!r}{near} (it has: {shown})"
        )
    return option
