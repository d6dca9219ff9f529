"""Allow-list of the configuration keys that an untrusted project file may set.

Such a file may add a question, lower a limit or arrange windows. Every other key waits for trust, including
the keys of later versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tideate_core.config.schema import MOST_RULES_FILES, LimitsConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WAITS: Final = object()
"""Result of a rule for a value that needs trust."""
Rule: TypeAlias = "Callable[[Any, Any], Any]"
"""Maps the project's value and the user's, or None, to the effective value."""


@dataclass(slots=True)
class UntrustedPart:
    """Effective values of an untrusted project file."""

    values: dict[str, Any] = field(default_factory=dict)
    waiting: dict[str, Any] = field(default_factory=dict)
    """Values that need trust, by dotted key; a section without any allowed key is one value."""


def untrusted_part(values: Mapping[str, Any], own: Mapping[str, Any]) -> UntrustedPart:
    """Split a project's values into effective ones and values that need trust.

    :param values: a project's configuration; values of a wrong type need trust.
    :param own: the user's configuration, into which the project's is merged.
    """
    part = UntrustedPart()
    part.values = _allowed(values, own, (), part.waiting)
    return part


def _allowed(
    values: Mapping[str, Any], own: Mapping[str, Any], path: tuple[str, ...], waiting: dict[str, Any]
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in values.items():
        here = (*path, key)
        pattern = _pattern(here)
        owned = own.get(key)
        if rule := ALLOWED.get(pattern):
            result = rule(value, owned)
            if result is not WAITS:
                kept[key] = result
                continue
        elif isinstance(value, dict) and pattern in SECTIONS:
            kept[key] = _allowed(value, owned if isinstance(owned, dict) else {}, here, waiting)
            continue
        waiting[".".join(here)] = value
    return kept


def _pattern(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return a key's path with `*` for the name of a workflow."""
    return ("workflows", "*", *path[2:]) if path[0] == "workflows" and len(path) > 1 else path


def _any(value: Any, _own: Any) -> Any:
    return value


def _only(allowed: Any, *, default: Any) -> Rule:
    """Allow one value, or the current one."""
    return lambda value, own: value if value in (allowed, default if own is None else own) else WAITS


def _added(most: int | None = None) -> Rule:
    """Allow additions to the user's list, no removals."""

    def rule(value: Any, own: Any) -> Any:
        if not isinstance(value, list | None):
            return WAITS
        return list(dict.fromkeys(map(str, [*(own or ()), *(value or ())])))[:most]

    return rule


def _lowered(default: float | None) -> Rule:
    """Allow a lower number than the user's or, without one, the default."""

    def rule(value: Any, own: Any) -> Any:
        limit = default if own is None else own
        try:  # numbers may be written as texts, as in the schema
            is_lower = limit is None or (value is not None and float(value) <= float(limit))
        except (TypeError, ValueError):
            return WAITS
        return value if is_lower else WAITS

    return rule


ALLOWED: Final[Mapping[tuple[str, ...], Rule]] = {
    ("rules",): _only(False, default=True),
    ("memory",): _only(False, default=True),
    ("rules_files",): _added(MOST_RULES_FILES),
    ("land", "executed"): _only("refuse", default="ask"),
    ("ui", "output"): _any,
    ("ui", "panel"): _any,
    ("workflows", "*", "require_confirmation"): _only(True, default=None),
    ("workflows", "*", "confirm"): _added(),
    **{
        ("limits", name): _lowered(field.default)
        for name, field in LimitsConfig.model_fields.items()
        # a lower limit would prevent the rollback of larger files
        if name != "max_file_kib"
    },
}
"""Rules by key; `*` is the name of any workflow."""
SECTIONS: Final = frozenset(key[:depth] for key in ALLOWED for depth in range(1, len(key)))
"""Sections with an allowed key in them."""
