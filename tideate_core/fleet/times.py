"""Times of a schedule, computed as DBOS computes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from tideate_core.errors import InvalidInput
from tideate_core.util.escaping import label

_NAME: Final = r"[\w.-]{1,100}"


def check_name(name: str) -> None:
    """Check the name of a new schedule.

    :raises InvalidInput: it is invalid.
    """
    if not re.fullmatch(_NAME, name):
        raise InvalidInput(f"the name {label(name)} is invalid: give letters, digits, '.', '_' and '-'")


def first_time(cron: str, zone: str | None, now: datetime | None = None) -> datetime:
    """Return the first time of a cron expression.

    :param zone: its time zone; None: UTC.
    :param now: the present time, by default the clock's.
    :raises InvalidInput: expression or zone are invalid, or no such time comes.
    """
    from croniter import CroniterBadDateError, CroniterError, croniter

    base = (now or datetime.now(UTC)).astimezone(_zone(zone))
    try:
        found: datetime = croniter(cron, base, second_at_beginning=True).get_next(datetime)
    except CroniterBadDateError as error:
        raise InvalidInput(f"the cron expression {label(cron)} has no time that ever comes") from error
    except CroniterError as error:
        raise InvalidInput(
            f"the cron expression {label(cron)} is invalid: {error}; "
            "give minute, hour, day, month and day of the week, such as '0 3 * * 1-5'"
        ) from error
    return found


def _zone(name: str | None) -> ZoneInfo:
    try:
        return ZoneInfo("UTC" if name is None else name)
    except (KeyError, OSError, ValueError) as error:
        raise InvalidInput(f"there is no time zone {label(name)}; give one such as Europe/Berlin") from error
