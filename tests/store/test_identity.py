"""A database that this person's tideate did not make is read and never written or gone on with."""

from __future__ import annotations

import shutil
import stat
from typing import TYPE_CHECKING

import pytest

from tests.store.making import change, query
from tests.store.past import Past, run_id
from tideate_core import provenance
from tideate_core.errors import StoreError, StoreIsForeign
from tideate_core.project import state_dir
from tideate_core.store import Reader, Store, connections
from tideate_core.store.database import FILE
from tideate_core.store.identity import is_ours, require_ours, revoke, trust

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))


@pytest.fixture
async def foreign(private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The private directory of a project with an unfinished run that somebody else's tideate made."""
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
        store = Store.open(private)
        past = Past(store)
        await past.begin()
        await past.step("a", "forged")
        store.close()
    return private


def everything(private: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in private.iterdir() if not file.name.endswith("-shm")}


async def test_a_foreign_database_is_read_but_not_opened(foreign: Path) -> None:
    before = everything(foreign)
    assert [run.id for run in Reader(foreign).runs()] == [run_id(1)]
    with pytest.raises(StoreIsForeign, match=r"was not made by your tideate.*tideate trust .*tideate\.db`"):
        Store.open(foreign)
    with pytest.raises(StoreIsForeign):
        require_ours(foreign)
    assert everything(foreign)[FILE] == before[FILE]


def test_ones_own_database_works_wherever_it_is_copied_to(private: Path, tmp_path: Path) -> None:
    Store.open(private).close()
    shutil.copytree(private, tmp_path / "copy")
    private.rename(tmp_path / "moved")
    for place in (tmp_path / "copy", tmp_path / "moved"):
        assert is_ours(place)
        Store.open(place).close()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_to_another_database_of_ones_own_is_not_followed(
    private: Path, tmp_path: Path, there: bool
) -> None:
    other = tmp_path / "other"
    if there:
        Store.open(other).close()
    else:
        other.mkdir()
    before = everything(other)
    private.mkdir()
    (private / FILE).symlink_to(other / FILE)
    with pytest.raises(StoreError, match="is a link"):
        Store.open(private)
    with pytest.raises(StoreError, match="is a link"):
        trust(private / FILE) if there else Store.open(private)
    if there:
        with pytest.raises(StoreError, match="is a link"):
            Reader(private).runs()
    assert everything(other) == before


def test_in_the_state_directory_only_the_person_can_have_made_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    state_dir().mkdir(parents=True)
    (state_dir() / FILE).symlink_to(tmp_path / "elsewhere" / FILE)
    Store.open(state_dir()).close()
    assert Reader(state_dir()).runs() == []
    assert query(tmp_path / "elsewhere", "SELECT count(*) FROM workflow_executions") == [(0,)]


def test_an_old_database_from_elsewhere_is_copied_only_if_it_is_small(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(foreign, "DROP TABLE gate_statistics")
    change(foreign, "DELETE FROM schema_version WHERE version = 15")
    assert [run.id for run in Reader(foreign).runs()] == [run_id(1)]
    monkeypatch.setattr(connections, "MOST_COPIED", 4096)
    with pytest.raises(StoreError, match=r"0 MiB are more than .* may be\. .*tideate trust .*tideate\.db`"):
        Reader(foreign).runs()
    trust(foreign / FILE)
    assert [run.id for run in Reader(foreign).runs()] == [run_id(1)]


def test_a_database_from_before_there_were_names_is_not_trusted_unasked(private: Path) -> None:
    Store.open(private).close()
    change(private, "DROP TABLE store_names")
    change(private, "DELETE FROM schema_version WHERE version = 13")
    with pytest.raises(StoreIsForeign):
        Store.open(private)
    trust(private / FILE)
    Store.open(private).close()


@pytest.mark.parametrize("name", ["", "..", "../stores", "0" * 31, "0" * 32, 7, b"\x00" * 32])
def test_a_name_that_nobody_remembered_is_none(foreign: Path, name: object) -> None:
    provenance.remember(provenance.new_name(), foreign / FILE)
    change(foreign, "UPDATE store_names SET name = ?", name)
    assert not is_ours(foreign)


def test_the_names_are_for_nobody_but_their_owner(private: Path) -> None:
    Store.open(private).close()
    (name,) = provenance.stores_dir().iterdir()
    assert stat.S_IMODE(name.stat().st_mode) == 0o600
    assert stat.S_IMODE(name.parent.stat().st_mode) == 0o700
    assert [(name.name,)] == query(private, "SELECT name FROM store_names")


async def test_a_trusted_database_goes_on_for_both_persons(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = query(foreign, "SELECT name FROM store_names")
    trust(foreign / FILE)
    store = Store.open(foreign)
    await store.adopt(run_id(1))
    store.close()
    mine = [path.name for path in provenance.stores_dir().iterdir()]
    assert (len(mine), (mine[0],) in theirs) == (1, False), "whoever made it knows the old name"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
    Store.open(foreign).close()


def test_another_database_with_the_name_that_a_trusted_one_came_with_is_not_trusted(
    foreign: Path, tmp_path: Path
) -> None:
    shutil.copytree(foreign, tmp_path / "later")
    trust(foreign / FILE)
    assert is_ours(foreign)
    assert not is_ours(tmp_path / "later")


def test_trust_is_taken_back(foreign: Path) -> None:
    assert not revoke(foreign / FILE)
    trust(foreign / FILE)
    assert revoke(foreign / FILE)
    assert not is_ours(foreign)
    assert not list(provenance.stores_dir().iterdir())


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER forge AFTER INSERT ON workflow_memos BEGIN DELETE FROM workflow_memos; END",
        "CREATE VIEW seen AS SELECT 1",
    ],
)
def test_a_database_that_would_act_by_itself_cannot_be_trusted(foreign: Path, statement: str) -> None:
    change(foreign, statement)
    with pytest.raises(StoreIsForeign, match="would act by itself"):
        trust(foreign / FILE)
    assert not is_ours(foreign)


def test_a_trigger_of_ours_with_another_text_is_not_ours(foreign: Path) -> None:
    [(name, text)] = query(
        foreign, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name LIMIT 1"
    )
    change(foreign, f"DROP TRIGGER {name}")
    change(foreign, text.replace("BEGIN", "BEGIN DELETE FROM workflow_memos;"))
    with pytest.raises(StoreIsForeign, match=name):
        trust(foreign / FILE)


def test_what_the_state_directory_lost_is_said(private: Path) -> None:
    Store.open(private).close()
    shutil.rmtree(state_dir())
    with pytest.raises(StoreIsForeign, match=r"or .*mine/tideate/stores was lost.*tideate trust"):
        Store.open(private)


def test_the_persons_own_directory_needs_no_name(tmp_path: Path) -> None:
    Store.open(state_dir()).close()
    shutil.rmtree(provenance.stores_dir())
    Store.open(state_dir()).close()


def test_a_state_directory_that_cannot_be_written_is_told(private: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be used: Not a directory"):
        Store.open(private)


def test_a_kill_before_the_first_name_is_durable_leaves_a_database_that_is_ones_own(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(provenance, "remember", killed)
        with pytest.raises(KeyboardInterrupt):
            Store.open(private)
    assert (private / FILE).exists()
    Store.open(private).close()
    assert is_ours(private)
