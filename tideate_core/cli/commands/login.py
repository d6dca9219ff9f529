"""`tideate login` and `tideate logout`: accounts and API keys of model providers."""

from __future__ import annotations

import asyncio
import sys
import time
from getpass import getpass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.text import Text

from tideate_core.adapters import LoginStore, keep_key, login_flow, login_kind, login_states
from tideate_core.cli.arguments import Json
from tideate_core.cli.process import DONE, run_async
from tideate_core.cli.render.output import (
    messages,
    note,
    print_json,
    print_line,
    print_message,
    report_errors,
)
from tideate_core.cli.render.tables import page, table
from tideate_core.errors import AuthenticationFailed, InvalidInput
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from tideate_core.adapters import Challenge, LoginState

LONGEST_LINE = 10_000
Provider = Annotated[str, Parameter(name="PROVIDER", help="As before the colon of PROVIDER:MODEL.")]


@report_errors
def login(
    provider: Annotated[
        str | None,
        Parameter(name="PROVIDER", help="github-copilot, openai-chatgpt, openai-codex, or one with keys."),
    ] = None,
    /,
    *,
    key: Annotated[
        bool, Parameter(help="Ask for a token instead of a login; for github-copilot (`gh auth token`).")
    ] = False,
    client_id: Annotated[
        str,
        Parameter(
            help="Client ID of your own OAuth app, for github-copilot. Default: $TIDEATE_GITHUB_CLIENT_ID."
        ),
    ] = "",
    move: Annotated[
        bool, Parameter(help="Move all stored logins to the place set in `[login] store`.")
    ] = False,
    json: Json = False,
) -> int:
    """Log in, list logins, or move them; return the exit status."""
    if move:
        return _move(provider, json)
    if provider is None:
        _print_states(login_states(), json)
        return DONE
    if key or login_kind(provider) == "key":
        keep_key(provider, _typed_key(provider))
    else:
        run_async(_log_in(provider, client_id))
    if json:
        print_json({"ok": True, "provider": provider})
    print_message(f"logged in to {provider}; stored in {LoginStore().place}")
    return DONE


@report_errors
def logout(provider: Provider, /, *, json: Json = False) -> int:
    """Delete a login; return the exit status."""
    removed = LoginStore().remove(provider)
    if json:
        print_json({"ok": True, "provider": provider, "removed": removed})
    print_message(
        f"the login of {provider} is deleted here; you can revoke its access at the provider"
        if removed
        else f"there is no login of {provider}"
    )
    return DONE


def _move(provider: str | None, json: bool) -> int:
    if provider is not None:
        raise InvalidInput("--move moves all logins; leave out the provider")
    store = LoginStore()
    moved = store.move()
    if json:
        print_json({"ok": True, "moved": moved})
    print_message(
        f"moved to {store.place}: {', '.join(moved)}" if moved else f"all logins are in {store.place} already"
    )
    return DONE


async def _log_in(provider: str, client_id: str) -> None:
    flow = await asyncio.to_thread(login_flow, provider, client_id=client_id)
    _show(await flow.start())
    await flow.finish()


def _show(challenge: Challenge) -> None:
    print_message("open in a browser:")
    # unwrapped, for copying
    print_line(challenge.address, console=messages())
    if challenge.code:
        print_message(f"and type the code {challenge.code}")
    else:
        print_message("use a browser on this machine; it returns here by itself")
    print_message(f"waiting, for at most {max(1, round(challenge.expires_in / 60))} min; Ctrl-C cancels")


def _typed_key(provider: str) -> str:
    """Read a key from the terminal without echo, or from stdin."""
    if not sys.stdin.isatty():
        return sys.stdin.readline(LONGEST_LINE)
    try:
        return getpass(f"API key of {visible(provider)} (not shown): ")
    except EOFError:
        raise AuthenticationFailed(f"{provider}: no key was given; nothing was stored") from None


def _print_states(states: list[LoginState], json: bool) -> None:
    if json:
        print_json({"ok": True, "providers": [state.as_json() for state in states]})
        return
    rows = table("provider", "credentials", "from", "")
    for state in states:
        kind = {"account": "account", "key": "key", "none": "not logged in"}[state.kind]
        kept = "tideate login (keyring)" if state.store == "keyring" else "tideate login"
        source = kept if state.source == "login" else state.source
        rows.add_row(Text(visible(state.provider)), kind, source, _ends(state))
    page().print(rows)
    wanted = "keyring" if LoginStore().uses_keyring else "file"
    if any(state.store not in ("", wanted) for state in states):
        note(f"not all logins are in the {wanted}, as [login] store says; `tideate login --move` moves them")


def _ends(state: LoginState) -> str:
    if state.expires_at is None:
        return ""
    minutes = round((state.expires_at - time.time()) / 60)
    return f"refreshed within {minutes} min" if minutes > 0 else "refreshed when it is used"
