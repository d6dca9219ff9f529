"""Logins in a real backend of the library `keyring` that needs no desktop."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.errors
import pytest
from keyrings.alt.file import PlaintextKeyring  # type: ignore[import-untyped]  # has no types

from tideate_core.adapters import login_states
from tideate_core.adapters.login_flows import keep_key, login_flow
from tideate_core.adapters.login_store import LoginStore
from tideate_core.adapters.stored_logins import stored_key
from tideate_core.config import load_config
from tideate_core.errors import ConfigError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECRET = "sk-in-the-keyring"


class Locked(keyring.backend.KeyringBackend):
    """Locked keyring, with errors that quote their input as bad backends do."""

    priority = 1.0

    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.KeyringLocked("the prompt was dismissed")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.PasswordSetError(f"cannot store {password}")


@pytest.fixture(autouse=True)
def wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set the login store in the user's configuration, at first the keyring."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = keyring.get_keyring()
    backend = PlaintextKeyring()
    backend.file_path = str(tmp_path / "keyring" / "keys.cfg")
    keyring.set_keyring(backend)
    settings = tmp_path / "config" / "tideate" / "config.toml"
    settings.parent.mkdir(parents=True)

    def say(store: str) -> None:
        settings.write_text(f'[login]\nstore = "{store}"\n')

    say("keyring")
    yield say
    keyring.set_keyring(before)


def in_file() -> str:
    return LoginStore().path.read_text()


def in_keyring() -> str | None:
    return keyring.get_password("tideate", f"openai ({LoginStore().path})")


def test_a_key_goes_to_the_keyring_and_no_secret_to_the_file() -> None:
    keep_key("openai", SECRET)
    assert SECRET not in in_file()
    assert json.loads(in_keyring() or "")["key"] == SECRET
    assert stored_key("openai") == SECRET
    (state,) = [one for one in login_states() if one.provider == "openai"]
    assert (state.kind, state.source, state.store) == ("key", "login", "keyring")
    assert LoginStore().remove("openai")
    assert in_keyring() is None
    assert "openai" not in LoginStore().all()


def test_tokens_go_there_too_and_the_file_says_when_they_end() -> None:
    login = {"kind": "oauth", "access_token": SECRET, "refresh_token": f"{SECRET}2", "expires_at": 5.0}
    LoginStore().put("openai-codex", login)
    assert SECRET not in in_file()
    found = LoginStore().get("openai-codex") or {}
    assert found == login | {"changed_at": found["changed_at"]}
    assert LoginStore().all()["openai-codex"]["expires_at"] == 5.0


@pytest.mark.parametrize("way", ["move", "put"])
def test_logins_follow_the_configuration_and_leave_nothing_behind(
    wants: Callable[[str], None], way: str
) -> None:
    def bring(store: str) -> None:
        wants(store)
        if way == "move":
            assert LoginStore().move() == ["openai"]
            assert LoginStore().move() == []
        else:
            LoginStore().put("openai", {"kind": "key", "key": SECRET})

    wants("file")
    LoginStore().put("openai", {"kind": "key", "key": SECRET})
    assert SECRET in in_file()
    assert in_keyring() is None
    bring("keyring")
    assert SECRET not in in_file()
    assert SECRET in (in_keyring() or "")
    bring("file")
    assert SECRET in in_file()
    assert in_keyring() is None
    assert stored_key("openai") == SECRET


def test_without_a_keyring_nothing_is_stored_and_the_error_says_what_to_do() -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call]
    with pytest.raises(StateError, match=r'no keyring can be used here.*store = "file"'):
        keep_key("openai", SECRET)
    assert LoginStore().all() == {}


def test_no_login_begins_that_could_not_be_kept() -> None:
    login_flow("openai-codex")
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call]
    with pytest.raises(StateError, match="no keyring can be used here"):
        login_flow("openai-codex")


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(StateError, match=r"install the extra `keyring`"):
        keep_key("openai", SECRET)


def test_a_locked_keyring_is_told_without_the_secret() -> None:
    keep_key("openai", SECRET)
    keyring.set_keyring(Locked())  # type: ignore[no-untyped-call]
    with pytest.raises(StateError, match=r"cannot be read .*the prompt was dismissed.*unlock it"):
        LoginStore().get("openai")
    with pytest.raises(StateError, match=r"cannot be written to .*unlock it") as raised:
        keep_key("openai", SECRET)
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None
    with pytest.raises(StateError, match=r"cannot be changed"):
        LoginStore().remove("openai")
    assert "openai" in LoginStore().all(), "it is not forgotten while its secret is still there"


def test_a_login_that_somebody_deleted_or_broke_asks_for_a_new_one() -> None:
    keep_key("openai", SECRET)
    name = f"openai ({LoginStore().path})"
    keyring.set_password("tideate", name, f"[{SECRET}")
    with pytest.raises(StateError, match=r"no login; run `tideate login openai` again") as raised:
        stored_key("openai")
    assert SECRET not in str(raised.value)
    keyring.delete_password("tideate", name)
    with pytest.raises(StateError, match=r"not in your keyring .* any more; run `tideate login openai`"):
        stored_key("openai")
    assert LoginStore().remove("openai")


def test_a_project_does_not_say_where_logins_go(wants: Callable[[str], None], tmp_path: Path) -> None:
    wants("file")
    root = tmp_path / "project"
    (root / ".tideate").mkdir(parents=True)
    (root / ".tideate" / "config.toml").write_text('[login]\nstore = "keyring"\n')
    loaded = load_config(root, as_trusted=True)
    assert loaded.config.login.store == "file"
    assert "ignored login: only your own configuration can set it" in loaded.notices[0]
    with pytest.raises(ConfigError, match=r"set it in .*config.toml"):
        load_config(None, {"login": {"store": "keyring"}})
