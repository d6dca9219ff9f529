"""Root of the error tree, with the errors that belong to no room."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FrontEndGone",
    "SlowSchema",
    "TideateError",
    "UnusableSchema",
    "did_you_mean",
]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or an empty string."""
    # here: most processes make no such message
    from tideate_core.errors.nearest import nearest

    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else ""


class TideateError(Exception):
    """The root of everything that may be shown to a person; `code` is what tools match on."""

    @property
    def code(self) -> str:
        """The class name: stable, and the `error_code` of a result."""
        return type(self).__name__


class UnusableSchema(TideateError):
    """A JSON Schema that no value can be held against: it is none, or leads out of itself."""


class SlowSchema(UnusableSchema):
    """A JSON Schema that takes too long to be held against a value."""


class FrontEndGone(TideateError):
    """The editor or the terminal that started the run went away."""
