"""Session with an agent over ACP 1: handshake, prompts, permissions, cancellation.

The client offers no requests for files and terminals: the agent works in its own copy of the project.
All code that depends on the protocol's version is in this package.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tideate_core import __version__
from tideate_core.adapters.acp.failures import METHOD_NOT_FOUND, agent_error
from tideate_core.adapters.acp.library import connect
from tideate_core.adapters.acp.options import OfferedOption, find_setting, offered_options
from tideate_core.adapters.acp.turn import TurnRecord
from tideate_core.adapters.acp.updates import one_line, read_call, read_update
from tideate_core.errors import AdapterError, AdapterUnavailable
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from acp.connection import Connection

    from tideate_core.adapters.acp.pipes import AgentPipes
    from tideate_core.adapters.acp.turn import OnUpdate, TurnEnd
    from tideate_core.adapters.acp.updates import AgentUpdate, CallUpdate

    Permit = Callable[[CallUpdate], Awaitable[bool]]
    """Returns whether the agent may make a call that it asks about."""

PROTOCOL: Final = 1
HANDSHAKE: Final = 60.0
"""Seconds for an answer to any request but a prompt."""
CANCEL_GRACE: Final = 5.0
"""Seconds for a cancelled turn to end by itself."""
QUIET: Final = 0.05
"""Seconds without an update after a prompt's answer that end the turn: some agents send updates late."""
_CANCELS: Final = re.compile("cancel|abort", re.IGNORECASE)
"""Ids of options that may end the turn."""
LATEST: Final = 2.0
"""Maximum seconds for late updates after an answer."""


async def allow(_call: CallUpdate) -> bool:
    """Allow every call: nothing that happens in the copy reaches the project without a review."""
    return True


class AgentSession:
    """Session with one agent process; `begin` it before the first prompt.

    :param name: name of the adapter, for messages.
    :param cwd: root of the project as the agent sees it.
    :param permit: answers the agent's requests for permission.
    :param silence: seconds that the agent may be silent before a prompt fails.
    """

    def __init__(
        self, name: str, pipes: AgentPipes, cwd: str, *, permit: Permit = allow, silence: float = 1800.0
    ) -> None:
        self.id = ""
        """The agent's id of the session."""
        self.description = ""
        """Name and version that the agent reports."""
        self.continued = False
        """True if the session is an earlier one, with its conversation."""
        self.cost = 0.0
        """US dollars of the session so far, in all processes."""
        self.options: tuple[OfferedOption, ...] = ()
        self._name = name
        self._pipes = pipes
        self._cwd = cwd
        self._permit = permit
        self._silence = silence
        self._capabilities: Mapping[str, Any] = {}
        self._logins: list[str] = []
        self._connection: Connection | None = None
        self._listening = False
        self._stirred = asyncio.Event()
        """Set by updates, permissions, and the answer to a prompt."""
        self._updates: list[AgentUpdate] = []
        self._cancelled = asyncio.Event()
        self._asking = 0
        """Open requests for permission; the agent may be silent while the person decides."""
        self._failure: BaseException | None = None
        """Error that `permit` raised; it ends the turn."""

    # -- beginning --------------------------------------------------------------------------------------

    async def greet(self) -> None:
        """Connect, and exchange versions and capabilities.

        :raises AdapterUnavailable: the library is missing, or the agent does not answer.
        :raises AdapterError: the agent speaks another version of the protocol.
        """
        self._connection = await connect(self._handle, self._pipes)
        answer = await self._request(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "clientCapabilities": {
                    "fs": {"readTextFile": False, "writeTextFile": False},
                    "terminal": False,
                },
                "clientInfo": {"name": "tideate", "title": "tideate", "version": __version__},
            },
            "start",
        )
        if (version := answer.get("protocolVersion")) != PROTOCOL:
            raise AdapterError(
                f"the agent {self._name!r} speaks version {one_line(str(version))} of ACP, and tideate "
                f"speaks version {PROTOCOL}; install an agent that supports it"
            )
        info = _mapping(answer.get("agentInfo"))
        self.description = " ".join(filter(None, (one_line(info.get("name")), one_line(info.get("version")))))
        self._capabilities = _mapping(answer.get("agentCapabilities"))
        methods = answer.get("authMethods")
        for method in methods if isinstance(methods, list) else ():
            if words := one_line(_mapping(method).get("description") or _mapping(method).get("name")):
                self._logins.append(words)

    async def begin(
        self, earlier: str = "", settings: Mapping[str, str | bool] | None = None, *, mode: str = ""
    ) -> None:
        """Continue an earlier session if the agent can, else open a new one; then set its options.

        :param earlier: the agent's id of the earlier session; empty for a new one.
        :param settings: values by an option's id or category, such as `model` and `mode`.
        :param mode: value of the agent's mode, if it offers this value and the settings name no mode.
        :raises AdapterError: the agent refused, or does not offer a value.
        """
        answer = await self._continue(earlier) if earlier else None
        self.continued = answer is not None
        if answer is None:
            answer = await self._request(
                "session/new", {"cwd": self._cwd, "mcpServers": []}, "start a session"
            )
            earlier = str(answer.get("sessionId") or "")
            if not earlier:
                raise AdapterError(f"the agent {self._name!r} started a session without an id")
        self.id = earlier
        self.options = offered_options(answer.get("configOptions"))
        modes = [one for one in self.options if one.category == "mode" and mode in one.values]
        wanted = {one.id: mode for one in modes if mode} | dict(settings or {})
        for key, value in wanted.items():
            option = find_setting(self._name, self.options, key, value)
            if option.current == value:
                continue
            asked = {"sessionId": self.id, "configId": option.id, "value": value}
            if isinstance(value, bool):
                asked["type"] = "boolean"
            said = await self._request("session/set_config_option", asked, f"set {key} to {value!r}")
            if "configOptions" in said:
                self.options = offered_options(said["configOptions"])

    async def _continue(self, earlier: str) -> dict[str, Any] | None:
        """Return the answer about a continued session; None if the agent cannot continue it."""
        can_resume = _mapping(self._capabilities.get("sessionCapabilities")).get("resume") is not None
        method = "session/resume" if can_resume else "session/load"
        if not can_resume and self._capabilities.get("loadSession") is not True:
            return None
        asked = {"sessionId": earlier, "cwd": self._cwd, "mcpServers": []}
        try:
            # the history that `load` replays was shown before
            return await self._request(method, asked, "continue its session")
        except AdapterUnavailable:
            raise
        except AdapterError:
            return None  # an expired session: the caller starts a new one

    # -- a turn -----------------------------------------------------------------------------------------

    async def prompt(self, text: str, on_update: OnUpdate) -> TurnEnd:
        """Send a prompt, and return at the end of the agent's turn.

        Cancelling the task, or an exception of `on_update`, cancels the turn and leaves the agent unusable.

        :param on_update: called with the updates, in order, in this task.
        :raises AdapterError: the agent failed, ended, or was silent for too long.
        """
        record = TurnRecord(on_update, self.cost)
        self._listening = True
        asked = {"sessionId": self.id, "prompt": [{"type": "text", "text": text}]}
        answering = asyncio.ensure_future(self._request("session/prompt", asked, "answer", within=None))
        answering.add_done_callback(lambda _: self._stirred.set())
        try:
            while not answering.done():
                await self._stir(self._silence)
                self._pass_on(record)
            latest = asyncio.get_running_loop().time() + LATEST
            while not answering.exception() and await self._late():
                self._pass_on(record)
                if asyncio.get_running_loop().time() > latest:
                    break
        except BaseException:
            await self._cancel(answering)
            raise
        finally:
            self._listening = False
        self.cost = record.cost
        return record.end(answering.result())

    def _pass_on(self, record: TurnRecord) -> None:
        taken, self._updates = self._updates, []
        record.take(taken)

    async def _stir(self, within: float) -> None:
        """Wait for the next message of the agent.

        :raises AdapterError: the agent was silent for too long while no person was asked.
        """
        while not self._stirred.is_set():
            try:
                async with asyncio.timeout(None if self._asking else within):
                    await self._stirred.wait()
            except TimeoutError:
                raise AdapterError(
                    f"the agent {self._name!r} gave no sign for {within:.0f} s, and its turn was ended; "
                    f"[adapters.NAME] timeout allows more{self._pipes.last_words}"
                ) from None
        self._stirred.clear()
        if self._failure is not None:
            raise self._failure

    async def _late(self) -> bool:
        """Wait for updates after the answer; return whether there were any."""
        if self._updates:
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET):
                await self._stirred.wait()
        self._stirred.clear()
        return bool(self._updates)

    async def _cancel(self, answering: asyncio.Future[dict[str, Any]]) -> None:
        """Cancel the turn, and wait for its end for a bounded time."""

        async def cancel() -> None:
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(CANCEL_GRACE):
                    if self._connection is not None and not answering.done():
                        await self._connection.send_notification("session/cancel", {"sessionId": self.id})
                    self._cancelled.set()
                    await asyncio.wait({answering})

        await wait_uncancelled(asyncio.ensure_future(cancel()))
        self._cancelled.set()
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)

    # -- messages ---------------------------------------------------------------------------------------

    async def _request(
        self, method: str, params: dict[str, Any], doing: str, *, within: float | None = HANDSHAKE
    ) -> dict[str, Any]:
        from acp.exceptions import RequestError

        assert self._connection is not None  # noqa: S101 `greet` connects first
        try:
            async with asyncio.timeout(within):
                answer = await self._connection.send_request(method, params)
        except RequestError as error:
            raise agent_error(self._name, doing, error, self._logins) from error
        except ConnectionError as error:
            raise await self._gone(doing, began=within is None) from error
        except TimeoutError as error:
            raise AdapterUnavailable(
                f"the agent {self._name!r} did not answer within {within:.0f} s, asked to {doing}"
                f"{self._pipes.last_words}"
            ) from error
        return answer if isinstance(answer, dict) else {}

    async def _gone(self, doing: str, *, began: bool) -> AdapterError:
        """Return the error for an agent that closed its streams."""
        await self._pipes.close()
        if self._pipes.problem is not None:
            return self._pipes.problem
        words = (
            f"the agent {self._name!r} {self._pipes.ending} before it could {doing}{self._pipes.last_words}"
        )
        # no automatic retry: a turn may take long
        return AdapterError(words) if began else AdapterUnavailable(words)

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """Handle a message of the agent."""
        params = _mapping(params)
        if method == "session/update":
            self._take(params)
        elif method == "session/request_permission" and not is_notification:
            return await self._answer_permission(params)
        elif not is_notification:
            from acp.exceptions import RequestError

            raise RequestError(METHOD_NOT_FOUND, "Method not found", {"method": str(method)[:100]})
        return None

    def _take(self, params: Mapping[str, Any]) -> None:
        if not self._listening or params.get("sessionId") != self.id:
            return
        self._stirred.set()
        if (update := read_update(params.get("update"), self._cwd)) is not None:
            self._updates.append(update)

    async def _answer_permission(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request for permission: by `permit`, or `cancelled` if the turn is cancelled meanwhile."""
        options = params.get("options")
        listed = [_mapping(one) for one in (options if isinstance(options, list) else [])]
        # of two ways to reject, codex has one that also cancels its turn
        listed.sort(key=lambda one: _CANCELS.search(str(one.get("optionId"))) is not None)
        offered = {str(one.get("kind")): str(one.get("optionId")) for one in reversed(listed)}
        self._asking += 1
        self._stirred.set()
        permitting = asyncio.ensure_future(self._permit(read_call(params.get("toolCall"), self._cwd)))
        cancelling = asyncio.ensure_future(self._cancelled.wait())
        try:
            await asyncio.wait({permitting, cancelling}, return_when=asyncio.FIRST_COMPLETED)
            if not permitting.done() or self._cancelled.is_set():
                return {"outcome": {"outcome": "cancelled"}}
            if permitting.cancelled() or permitting.exception() is not None:
                self._failure = asyncio.CancelledError() if permitting.cancelled() else permitting.exception()
                return {"outcome": {"outcome": "cancelled"}}
            # an "always" would be stored in the agent's own settings, outside of the copy
            kinds = (
                ("allow_once", "allow_always") if permitting.result() else ("reject_once", "reject_always")
            )
            chosen = next((offered[kind] for kind in kinds if kind in offered), None)
        finally:
            for task in (permitting, cancelling):
                task.cancel()
            await asyncio.gather(permitting, cancelling, return_exceptions=True)
            self._asking -= 1
            self._stirred.set()
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def close(self) -> None:
        """End the agent's process."""
        self._cancelled.set()
        if self._connection is not None:
            await self._connection.close()
        else:
            await self._pipes.close()


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
