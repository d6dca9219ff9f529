"""Words of git, models and errors, before they become a row or a line of a log."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator

from tideate_core.mentions import hide_secrets
from tideate_core.util.addresses import without_user


def clean(words: str) -> str:
    """Replace users of addresses, and probable secrets."""
    return hide_secrets(without_user(words))


CleanText: TypeAlias = Annotated[str, AfterValidator(clean)]
