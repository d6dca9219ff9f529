"""Groups of errors of parallel tasks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tideate_core.errors import TideateError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise the first error of a group instead of the group, if all its errors are tideate's."""
    try:
        yield
    except BaseExceptionGroup as group:
        if group.split(TideateError)[1] is not None:
            raise
        raise _first(group) from group


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
