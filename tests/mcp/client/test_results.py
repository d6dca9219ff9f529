"""Every error of the SDK and its transports is translated."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import httpx2
import mcp.client
import mcp.shared
import mcp_types
import pytest
from mcp.shared.exceptions import MCPError

from tideate_core.errors import ServerUnavailable, ToolError, ToolFailed, ToolInterrupted
from tideate_core.mcp.client.results import BY_CODE, BY_KIND, translate

ELSEWHERE = {
    "InvalidRedirectUriError",
    "InvalidScopeError",
    "OAuthFlowError",
    "OAuthRegistrationError",
    "OAuthTokenError",
}
"""Of its own authorization, which is not used."""


def kinds() -> list[type[Exception]]:
    found = set()
    for package in (mcp.client, mcp.shared):
        for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            if info.name.endswith("__main__"):
                continue
            for name, value in vars(importlib.import_module(info.name)).items():
                ours = inspect.isclass(value) and value.__module__.startswith("mcp.")
                if ours and issubclass(value, Exception) and not issubclass(value, Warning):
                    found.add(value) if name not in ELSEWHERE else None
    return sorted(found, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_sdk_is_translated(kind: type[Exception]) -> None:
    assert issubclass(kind, (MCPError, *BY_KIND))


def test_every_error_code_of_the_protocol_is_translated() -> None:
    codes = {
        value
        for name, value in vars(mcp_types).items()
        if name.isupper() and isinstance(value, int) and value < 0
    }
    assert codes == set(BY_CODE)


def test_what_a_group_holds_is_looked_for() -> None:
    refused = httpx2.ConnectError("refused")
    group = BaseExceptionGroup("", [BaseExceptionGroup("", [refused])])
    assert isinstance(translate(group, "x"), ServerUnavailable)


def test_the_words_of_a_server_are_kept_and_bounded() -> None:
    error = translate(MCPError(-1, "w" * 100_000), "x")
    assert isinstance(error, ToolFailed)
    assert 2000 < len(str(error)) < 2100


def test_the_end_of_a_connection_needs_no_words_of_the_sdk() -> None:
    error = translate(MCPError(mcp_types.CONNECTION_CLOSED, "Connection closed"), "x")
    assert isinstance(error, ToolInterrupted)
    assert "before the answer came" in str(error)


def test_a_mistake_of_ours_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        translate(KeyError("x"), "x")


def test_all_are_in_one_tree() -> None:
    assert all(issubclass(kind, ToolError) for kind in (*BY_CODE.values(), *BY_KIND.values()))
