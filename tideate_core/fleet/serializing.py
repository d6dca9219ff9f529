"""Values in DBOS's tables: JSON only. Rows are data of others, and a pickle would run their code."""

from __future__ import annotations

import base64
import pickle
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tideate_core.errors import FleetError

if TYPE_CHECKING:
    from dbos import Serializer

_PICKLE: Final = "py_pickle"
"""Name of the library's default format, which a row may name in its column `serialization`."""


class PickleRefused(FleetError):
    """A row of the fleet's database has a pickle, which tideate does not read."""

    def __init__(self) -> None:
        super().__init__("a row of the fleet's database has a Python pickle, which tideate does not read")


def json_serializer() -> Serializer:
    """Return the serializer for every connection to DBOS; from now on, DBOS cannot read pickles.

    :raises FleetError: the installed version of DBOS would read them.
    """
    from dbos import DBOSPortableJSONSerializer, _serialization

    # A private name, because the library has no switch: whatever serializer is configured, it unpickles each
    # row that asks for it. `_prove` notices a version in which this has no effect.
    _serialization.DefaultSerializer.deserialize = _refuse  # type: ignore[method-assign, assignment]
    serializer = DBOSPortableJSONSerializer()
    _prove(serializer)
    return serializer


def _refuse(_serializer: object, _text: str) -> NoReturn:
    raise PickleRefused


def _prove(serializer: Serializer) -> None:
    """Check that the functions that DBOS reads rows with refuse a harmless pickle."""
    from dbos import _core, _sys_db

    harmless = base64.b64encode(pickle.dumps({"args": (), "kwargs": {}})).decode()
    for module, name in (
        (_core, "deserialize_args"),
        (_core, "deserialize_value"),
        (_core, "deserialize_exception"),
        (_sys_db, "deserialize_value"),
        (_sys_db, "deserialize_exception"),
    ):
        read: Any = getattr(module, name, None)
        try:
            read(harmless, _PICKLE, serializer)
        except PickleRefused:
            continue
        except Exception as error:
            raise FleetError(_unsafe_version()) from error
        raise FleetError(_unsafe_version())


def _unsafe_version() -> str:
    from importlib.metadata import version

    return (
        f"version {version('dbos')} of the library dbos reads pickles from the database, which would let "
        "others run code here; install a version that tideate knows: `pip install 'dbos==3.4.*'`"
    )
