"""Every configuration key, with extreme values, in an untrusted project file."""

from __future__ import annotations

import json
import types
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from tests.harness.project import use_home
from tests.harness.state import trust_file
from tideate_core.config import Config, load_config, waiting_keys
from tideate_core.config.schema import LimitsConfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic.fields import FieldInfo

EXTREMES: list[Any] = [
    *(True, False, -1, 0, 1, 2, 10, 64, 100, 1000, 10_000, 10**9, 0.001, 5.5, 1e300),
    *("", "a", "off", "no", "yes", "0", "5", "1000", "~/x", "/tmp/x", "http://127.0.0.1:1/v1", "EVIL", "p:m"),
    "postgresql://127.0.0.1:1/evil",
    *([], ["*"], ["sh", "-c", "x"], ["a/b.md"], {}, {"a": "b"}),
]
"""Values tried at each key, as far as its type accepts them."""
OWN = """
adapter = "mine"
rules = true
rules_files = ["MINE.md"]
[adapters.mine]
base_url = "http://127.0.0.1:9/v1"
model = "m"
[workflows.ask]
require_confirmation = true
confirm = ["first"]
[limits]
attempts = 2
max_visits = "5"
cost_usd = 3
[snapshots]
keep = 7
[history]
keep_runs = 50
[verify]
tests = ["make", "test"]
[ui]
notify = true
border = "single"
"""


def sections(field: FieldInfo) -> Iterator[tuple[bool, type[BaseModel]]]:
    """Yield the sections in a field's type, and whether each has a name above it."""
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield False, kind
    elif get_origin(kind) is dict:
        inner = get_args(kind)[1]
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield True, inner


def leaves(
    section: type[BaseModel], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    for name, field in section.model_fields.items():
        inner = list(sections(field))
        for named, kind in inner:
            # the user has these two
            own = {"workflows": ["ask"], "adapters": ["mine"]}.get(name, ["other"]) if named else []
            yield from leaves(kind, (*path, name, *own))
        if not inner:
            yield (*path, name), field


def candidates(field: FieldInfo) -> list[Any]:
    """Return the extreme values and each literal of the type."""
    words: list[Any] = []
    open_types: list[Any] = [field.annotation]
    while open_types:
        kind = open_types.pop()
        if get_origin(kind) is Literal:
            words += get_args(kind)
        elif get_origin(kind) in (Union, types.UnionType):
            open_types += get_args(kind)
    return [*EXTREMES, *words]


NEEDED: dict[str, list[dict[str, Any]]] = {
    "adapters": [{"model": "p:m"}, {}],
    "servers": [{"command": ["true"]}, {"url": "https://127.0.0.1/mcp"}],
}
"""Required keys of a named section, one of which is added."""


def variants(path: tuple[str, ...], value: Any) -> Iterator[dict[str, Any]]:
    """Yield valid configurations with a value at a path."""
    for needed in NEEDED.get(path[-3] if len(path) > 2 else "", [{}]):
        inner: dict[str, Any] = {**needed, path[-1]: value}
        for part in reversed(path[:-1]):
            inner = {part: inner}
        try:
            Config.model_validate(inner)
        except ValidationError:
            continue
        yield inner


def toml(values: dict[str, Any]) -> str:
    """Return values as inline tables; JSON scalars and lists are valid TOML."""
    return "".join(f"{key} = {_inline(value)}\n" for key, value in values.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


def not_meant(own: dict[str, Any], now: dict[str, Any], path: tuple[str, ...] = ()) -> list[str]:
    """Test oracle: keys with a value that is neither the user's nor stricter."""
    found: list[str] = []
    for key in own.keys() | now.keys():
        here = (*path, key)
        before, after = own.get(key), now.get(key)
        if before == after:
            continue
        if here[0] == "workflows" and len(here) <= 2:
            found += not_meant(before or {}, after or {}, here)
        elif isinstance(before, dict) and isinstance(after, dict):
            found += not_meant(before, after, here)
        elif not is_stricter(here, before, after):
            found.append(".".join(here))
    return found


def is_stricter(path: tuple[str, ...], before: Any, after: Any) -> bool:
    if path[0] == "limits" and path[1] != "max_file_kib":
        return after is not None and (before is None or after < before)
    if path[0] == "workflows":
        default = {"require_confirmation": True, "states": {}}.get(path[-1])
        if path[-1] == "confirm":
            return set(before or []) <= set(after or [])
        return bool(after == default)
    if path in {("rules_files",), ("ui", "output"), ("ui", "panel")}:
        return True
    return (path, after) in [(("rules",), False), (("memory",), False), (("land", "executed"), "refuse")]


def everything() -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for path, field in leaves(Config):
        for value in candidates(field):
            for whole in variants(path, value):
                yield path, whole


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(tmp_path, monkeypatch)
    (tmp_path / "config/tideate").mkdir(parents=True)
    (tmp_path / "root/.tideate").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("own", ["", pytest.param(OWN, marks=pytest.mark.slow)], ids=["defaults", "own"])
def test_no_key_changes_more_than_questions_limits_and_windows(home: Path, own: str) -> None:
    (home / "config/tideate/config.toml").write_text(own)
    file = home / "root/.tideate/config.toml"
    base = load_config(home / "root").config.model_dump()
    tried: set[tuple[str, ...]] = set()
    for path, values in everything():
        file.write_text(toml(values))
        now = load_config(home / "root").config.model_dump()
        assert not_meant(base, now) == [], values
        tried.add(path)
    assert tried == {path for path, _ in leaves(Config)}


def test_all_keys_at_once_change_no_more(home: Path) -> None:
    (home / "config/tideate/config.toml").write_text(OWN)
    base = load_config(home / "root").config.model_dump()
    limits = dict.fromkeys(LimitsConfig.model_fields, 1) | {"tokens": 1000, "run_tokens": 10**9}
    values = {
        "adapter": "x",
        "rules_files": [f"{number}.md" for number in range(50)],
        "limits": limits | {"mention_tokens": 100},
        "snapshots": {"keep": 1, "max_file_mib": 1, "max_total_mib": 1, "ignored_directories": True},
        "history": {"keep_runs": 0, "max_age_days": 0.1, "max_mib": 0},
        "workflows": {"ask": {"require_confirmation": False, "confirm": []}, "x": {"confirm": ["a"]}},
    }
    (home / "root/.tideate/config.toml").write_text(toml(values))
    loaded = load_config(home / "root")
    assert not_meant(base, loaded.config.model_dump()) == []
    assert loaded.config.rules_files[0] == "MINE.md"
    (notice,) = loaded.notices
    for key in (
        "adapter",
        "snapshots",
        "history",
        "limits.max_file_kib",
        "workflows.ask.require_confirmation",
    ):
        assert key in notice


@pytest.mark.slow
def test_every_key_that_is_ignored_is_named_and_counts_once_trusted(home: Path) -> None:
    """The notice names it, and so does the list of keys that trust would change."""
    file = home / "root/.tideate/config.toml"
    base = load_config(home / "root").config.model_dump()
    for path, values in everything():
        file.write_text(toml(values))
        if path[0] in ("state", "login"):
            continue
        loaded = load_config(home / "root")
        as_trusted = load_config(home / "root", as_trusted=True).config.model_dump()
        waiting = waiting_keys(file.read_bytes())
        if loaded.config.model_dump() == base != as_trusted:
            assert waiting, values
            assert all(key in loaded.notices[0] for key in waiting)


def test_a_trusted_file_may_keep_fewer_snapshots(home: Path) -> None:
    file = home / "root/.tideate/config.toml"
    file.write_text("[snapshots]\nkeep = 1\n")
    assert load_config(home / "root").config.snapshots.keep == 10
    trust_file(file)
    assert load_config(home / "root").config.snapshots.keep == 1
