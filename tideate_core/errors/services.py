"""Errors of models, MCP servers and other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from tideate_core.errors.base import TideateError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AdapterError",
    "AdapterUnavailable",
    "AuthenticationFailed",
    "CommandError",
    "ContextTooLong",
    "InvalidAnswer",
    "InvalidArguments",
    "InvalidCommand",
    "InvalidReply",
    "ProgramMissing",
    "ProgramNotExecutable",
    "RateLimited",
    "ServerNotTrusted",
    "ServerUnavailable",
    "ToolError",
    "ToolFailed",
    "SessionExpired",
    "ToolInterrupted",
    "ToolNotPermitted",
    "ToolTimedOut",
    "UnknownAdapter",
    "UnknownServer",
    "UnknownTool",
]

MOST_NAMED = 50
"""Names that an error lists."""


class AdapterError(TideateError):
    """A model or an agent gave no usable answer; the message keeps the provider's own words."""


class AdapterUnavailable(AdapterError):
    """Unreachable, not installed, or failing on its side. May pass: retryable."""


class AuthenticationFailed(AdapterError):
    """There is no key, or the provider refused it."""


class RateLimited(AdapterError):
    """The provider asks to wait. Retryable.

    :param retry_after: seconds the provider asked for, None if it did not say.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ContextTooLong(AdapterError):
    """The prompt does not fit the model."""


class InvalidReply(AdapterError):
    """An answer that is not what was asked for: cut off, too long, empty, or not of the schema.

    :param limit: the limit that it went over, as notices name it; empty without one.
    """

    def __init__(self, message: str, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit

    @classmethod
    def of_nothing(cls, model: str) -> Self:
        """Return that a model ended without an answer."""
        return cls(
            f"the model {model!r} ended without an answer; try again, word the request differently, or use "
            "another adapter"
        )


class UnknownAdapter(AdapterError):
    """No adapter has this name."""


class CommandError(TideateError):
    """A program could not be run."""


class InvalidCommand(CommandError):
    """The command is empty, or has a character that no argument can have."""


class ProgramMissing(CommandError):
    """Not installed, or not where it was said to be; the message says what to install or to configure."""


class ProgramNotExecutable(CommandError):
    """It is there and the system does not run it."""


class ToolError(TideateError):
    """A tool of an MCP server could not be called; the message keeps the server's own words, bounded."""


class UnknownServer(ToolError):
    """No MCP server is configured under this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        super().__init__(
            f"no MCP server is called {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(known) or 'none'}); `[mcp.servers.NAME]` in config.toml configures one"
        )


class ServerNotTrusted(ToolError):
    """A project's own file names the server, and nobody trusted that file."""


class ServerUnavailable(ToolError):
    """It cannot be started or reached; the message has the last lines that it wrote. Retryable."""


class UnknownTool(ToolError):
    """The server has no tool of this name."""

    def __init__(self, server: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
        super().__init__(
            f"the MCP server {server!r} has no tool {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(known[:MOST_NAMED]) or 'none'}{more})"
        )


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's schema; nothing was sent."""


class ToolNotPermitted(ToolError):
    """The person did not allow the call, or allowed another one; nothing was sent."""


class ToolFailed(ToolError):
    """The tool reported an error. Retryable."""


class ToolTimedOut(ToolError):
    """The call took longer than it may; it was cancelled, and may be done all the same. Retryable."""


class ToolInterrupted(ToolError):
    """The server died during the call, which may be done or not. Retryable."""


class SessionExpired(ToolInterrupted):
    """The server had ended the session and refused the call, which was not done. Retryable."""


class InvalidAnswer(ToolError):
    """The server's answer is not MCP, does not fit its own schema, or is too large."""
