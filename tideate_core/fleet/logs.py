"""Log records of a worker: one line each, without control characters, secrets and repetitions."""

from __future__ import annotations

import logging

from tideate_core.mentions import value_without_secrets
from tideate_core.util.escaping import one_line


class PlainRecords(logging.Filter):
    """Cleans the records of a handler: rows and git's words are texts of others."""

    _last = ""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the text of a record; drop one that repeats the last."""
        text = one_line(str(value_without_secrets(record.getMessage())))
        if record.exc_info and record.levelno > logging.DEBUG:
            record.exc_info = record.exc_text = record.stack_info = None  # with other texts of others
        repeated, self._last = text == self._last, text
        record.msg, record.args = text, ()
        return not repeated


def log_plainly() -> None:
    """Log to the handlers of this process only, and clean all records; call it after `DBOS(…)`."""
    library = logging.getLogger("dbos")
    for handler in library.handlers[:]:
        library.removeHandler(handler)
    library.addHandler(logging.NullHandler())  # the library adds its own to a logger without any
    library.propagate = True
    library.setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        if not any(isinstance(one, PlainRecords) for one in handler.filters):
            handler.addFilter(PlainRecords())
