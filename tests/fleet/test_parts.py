"""Queues, stored bundles, mirrors and pushed branches of a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fleet.test_submission import submission
from tideate_core.config import Config
from tideate_core.errors import ConfigError, FleetError, InvalidInput, RemoteFailed
from tideate_core.fleet import Repositories, WorkerOptions, database_url
from tideate_core.fleet.database import NameLock, open_engine
from tideate_core.fleet.objects import QUESTIONS, Objects
from tideate_core.fleet.rates import rate_queues, rated_provider
from tideate_core.fleet.repositories import TRAILER, check_out, commit_files

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet.site import Database, Site
    from tideate_core.config import FleetConfig


def test_the_rate_is_of_the_provider_that_a_run_will_use() -> None:
    assert rate_queues({"openai": "60/30"}) == {"rate:openai": (60, 30.0)}
    config = Config.model_validate(
        {
            "adapter": "mine",
            "adapters": {
                "mine": {"model": "openai:gpt"},
                "own": {"base_url": "http://h", "model": "openai:x"},
            },
            "workflows": {"chat": {"adapter": "own"}},
            "fleet": {"rates": {"openai": "60/30", "other": "1/1"}},
        }
    )
    for wanted, provider in (
        (submission(), "openai"),
        (submission(workflow="chat"), None),
        (submission(adapter="openai:gpt"), "openai"),
        (submission(adapter="other"), "other"),
        (submission(adapter="own"), None),
    ):
        assert rated_provider(wanted, config) == provider


WRONG = {"--name": [("a b", "q"), ("", "q")], "--queue": [("n", "1"), ("n", "a:b")]}


@pytest.mark.parametrize(
    ("option", "names"), [(one, names) for one, found in WRONG.items() for names in found]
)
def test_a_worker_rejects_invalid_names(option: str, names: tuple[str, str]) -> None:
    with pytest.raises(InvalidInput, match=option):
        WorkerOptions(*names).check()


async def test_the_password_comes_from_the_command_and_is_never_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = configured(database="postgresql://u@h/d", password_command=["printf", "pa/ss\nmore"])
    assert await database_url(config) == "postgresql://u:pa%2Fss@h/d"
    with pytest.raises(ConfigError, match="gave no password"):
        await database_url(configured(database="postgresql://u@h/d", password_command=["true"]))
    monkeypatch.setenv("TIDEATE_FLEET_DATABASE", "mysql://u:secret@h/d")
    with pytest.raises(ConfigError, match="PostgreSQL") as raised:
        await database_url(config)
    assert "secret" not in str(raised.value)


WRONG_ADDRESSES = (
    "postgresql://u:p@x:S3CRET@h/d",
    "postgresql://h:S3CRET/x",
    "postgresql://[::1S3CRET",
    "S3CRET",
)


@pytest.mark.parametrize("address", WRONG_ADDRESSES)
async def test_a_wrong_address_is_told_without_any_part_of_it(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("TIDEATE_FLEET_DATABASE", address)
    with pytest.raises(ConfigError, match="the address in") as raised:
        await database_url(configured())
    assert "S3CRET" not in str(raised.value)
    assert raised.value.__suppress_context__


def configured(**keys: object) -> FleetConfig:
    from tideate_core.config import FleetConfig

    return FleetConfig.model_validate(keys)


def test_a_stored_bundle_that_was_changed_is_rejected(database: Database) -> None:
    engine = open_engine(database.new())
    objects = Objects(engine)
    objects.create()
    objects.create()
    name = objects.put("r", 1, b"content")
    assert objects.put("r", 1, b"content") == name
    assert (objects.get("r", name), objects.newest("r", 1), objects.newest("r", 2)) == (
        b"content",
        name,
        None,
    )
    later = objects.put("r", 1, b"later")
    assert objects.newest("r", 1) == later
    objects.put("r", QUESTIONS, b"a leg never begins with a question")
    assert objects.newest("r", 1) == later
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE tideate.objects SET content = 'forged'")
    with pytest.raises(FleetError, match="was changed"):
        objects.get("r", name)
    objects.keep_only("r", [later])
    assert objects.newest("r", 1) == later
    objects.keep_only("r", [])
    assert objects.newest("r", 1) is None
    engine.dispose()


def test_a_worker_name_is_free_after_its_session_ends(database: Database) -> None:
    engine = open_engine(database.new())
    one, other = NameLock(engine, "n"), NameLock(engine, "n")
    assert one.take()
    assert not other.take()
    assert one.is_held()
    with engine.connect() as connection:
        cut = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
        connection.exec_driver_sql(cut)
    assert not one.is_held()
    assert other.take()
    other.release()
    assert one.take()
    one.release()
    engine.dispose()


async def test_a_repeated_push_finds_the_branch_of_the_first_push(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(site.home("ana")))
    address = site.remote("one", {"a.txt": "one\n", ".gitignore": "*.log\n"})
    wanted = submission(repo=address)
    commits = []
    for machine in ("here", "there"):
        repositories = Repositories(tmp_path / machine)
        base = await repositories.resolve(address, "main")
        assert base == await repositories.resolve(address, "HEAD")
        tree = tmp_path / machine / "tree"
        await check_out(await repositories.ensure(address, "main", base), base, tree)
        assert await commit_files(tree, ["a.txt"], wanted, "nothing") is None
        (tree / "a.txt").write_text("two\n")
        (tree / "x.log").write_text("ignored\n")
        (tree / "left.txt").write_text("not of the run\n")
        commit = await commit_files(tree, ["a.txt", "x.log"], wanted, "change")
        assert commit is not None
        trailer = f"{TRAILER}: {wanted.run}"
        commits.append(await repositories.push(address, tree, "tideate/x", commit, trailer))
        other = await commit_files(tree, ["a.txt", "left.txt"], wanted, "another")
        assert other is not None
        assert await repositories.push(address, tree, "tideate/x", other, trailer) == commit
        with pytest.raises(RemoteFailed, match="belongs to another run"):
            await repositories.push(address, tree, "main", other, trailer)
        with pytest.raises(RemoteFailed, match="no branch and no tag"):
            await repositories.resolve(address, "nosuch")
    assert commits[0] == commits[1]
    listed = site.git("--git-dir", address.removeprefix("file://"), "ls-tree", "--name-only", commits[0])
    assert listed.split() == [".gitignore", "a.txt"]
