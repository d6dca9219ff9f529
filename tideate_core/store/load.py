"""What the writer takes into one transaction, and what of it cannot be written."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tideate_core.errors import StoreError, TideateError
from tideate_core.store.database import is_of_the_database, translated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.store.delivery import Delivery
    from tideate_core.store.log import RunLog
    from tideate_core.store.transaction import Batch, Transaction

__all__ = ["Job", "Load", "Rejected", "attempt"]

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """Something that is no run's log: done in a transaction, then told."""

    do: Callable[[Transaction], T]
    delivery: Delivery


class Rejected(Exception):
    """One of those in a transaction cannot be written; the others can."""

    def __init__(self, item: RunLog | Job[Any], error: Exception) -> None:
        super().__init__(str(error))
        self.item = item
        self.error = error


@dataclass(slots=True)
class Load:
    """What goes into one transaction."""

    jobs: list[Job[Any]] = field(default_factory=list)
    batches: dict[RunLog, Batch] = field(default_factory=dict)

    def told(self, failure: StoreError | None) -> list[Delivery]:
        """Return what those are told who wait for its jobs."""
        for job in self.jobs:
            job.delivery.error = failure
        return [job.delivery for job in self.jobs]


def attempt(path: Path, item: RunLog | Job[Any], write: Callable[..., T], *values: object) -> T:
    """Write one of a transaction; what is wrong with it alone must not stop the others.

    :param path: the database's.
    :raises Rejected: it cannot be written.
    :raises sqlite3.Error, OSError: nothing can be written now.
    """
    try:
        return write(*values)
    except TideateError as error:
        raise Rejected(item, error) from error
    except (sqlite3.Error, OSError) as error:
        if is_of_the_database(error):
            raise
        raise Rejected(item, translated(path, error)) from error
    except Exception as error:
        raise Rejected(item, error) from error
