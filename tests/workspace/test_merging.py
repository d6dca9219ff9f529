"""Another program's changes, merged with the files and buffers as they are now, and landed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.buffers import Buffers
from tests.workspace.project import tree
from tideate_core.workspace import ABSENT, FileImage, OutsideChanges, Workspace, merge_outside_changes

if TYPE_CHECKING:
    from tideate_core.workspace import FileChange, MergedChanges

GONE = FileImage(ABSENT)


def image(data: bytes | str | None, mode: int = 0o644) -> FileImage:
    if data is None:
        return GONE
    return FileImage.of_file(data.encode() if isinstance(data, str) else data, mode)


def outside(**files: tuple[bytes | str | None, bytes | str | None]) -> OutsideChanges:
    return OutsideChanges({name: (image(one), image(two)) for name, (one, two) in files.items()})


class Project:
    """A project, and the changes of a program that worked on a copy of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.buffers: Buffers | None = None

    def __truediv__(self, name: str) -> Path:
        return self.root / name

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.root, buffers=self.buffers, private=self.root.parent / "private")

    async def merged(
        self, changes: OutsideChanges, moved: dict[str, str] | None = None, **left: str
    ) -> MergedChanges:
        return await merge_outside_changes(self.workspace, changes, moved or {}, left)

    async def change(self, changes: OutsideChanges, moved: dict[str, str] | None = None) -> FileChange:
        (change,) = (await self.merged(changes, moved)).changes
        return change

    async def land(self, *changes: FileChange) -> None:
        workspace = self.workspace
        await workspace.apply(await workspace.attach(changes), execution_id="run")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project")


async def test_a_file_unchanged_since_lands_as_it_is(project: Project) -> None:
    (project / "a").write_text("one\ntwo\n")
    change = await project.change(outside(a=("one\ntwo\n", "one\n2\n")))
    assert not change.conflicts
    await project.land(change)
    assert (project / "a").read_text() == "one\n2\n"


async def test_the_persons_lines_stay_beside_the_agents(project: Project) -> None:
    (project / "a").write_text("mine\n1\n2\n3\n")
    change = await project.change(outside(a=("1\n2\n3\n", "1\n2\nthree\n")))
    assert not change.conflicts
    await project.land(change)
    assert (project / "a").read_text() == "mine\n1\n2\nthree\n"


async def test_an_unsaved_buffer_counts_as_the_file(project: Project) -> None:
    (project / "a").write_text("1\n2\n3\n")
    project.buffers = Buffers.typed(project / "a", "1\n2\nmine")
    change = await project.change(outside(a=("1\n2\n3\n", "ONE\n2\nthree\n")))
    assert [(hunk.old, hunk.new, hunk.conflict) for hunk in change.hunks] == [
        (("1",), ("ONE",), False),
        (("mine",), ("three",), True),
    ]


async def test_a_hunk_lands_in_the_unsaved_buffer_that_the_copy_had_from_the_beginning(
    project: Project,
) -> None:
    (project / "a").write_text("1\n")
    project.buffers = Buffers.typed(project / "a", "1\nunsaved")
    await project.land(await project.change(outside(a=("1\nunsaved\n", "one\nunsaved\n"))))
    assert project.buffers.text(1) == "one\nunsaved"
    assert (project / "a").read_text() == "1\n"


@pytest.mark.parametrize("now", ["1\n2\nmine\n", "other\n"])
async def test_a_deletion_of_a_file_that_the_person_changed_is_a_conflict(project: Project, now: str) -> None:
    (project / "a").write_text(now)
    change = await project.change(outside(a=("1\n2\n", None)))
    assert (change.action, change.conflict, change.before) == ("delete", True, now.removesuffix("\n"))


async def test_a_file_that_the_person_deleted_comes_back_only_by_a_decision(project: Project) -> None:
    change = await project.change(outside(a=("1\n", "2\n")))
    assert (change.action, change.conflict) == ("create", True)
    await project.land(change)
    assert (project / "a").read_text() == "2\n"


async def test_a_file_that_both_created_is_a_conflict_where_it_differs(project: Project) -> None:
    (project / "a").write_text("same\nmine\n")
    change = await project.change(outside(a=(None, "same\nyours\n")))
    assert [(hunk.old, hunk.new, hunk.conflict) for hunk in change.hunks] == [(("mine",), ("yours",), True)]


@pytest.mark.parametrize("now", [b"\0mine", b"text\n"])
async def test_a_binary_that_both_changed_is_a_conflict_as_a_whole(project: Project, now: bytes) -> None:
    (project / "a").write_bytes(now)
    change = await project.change(outside(a=(b"\0base", b"\0yours")))
    assert (change.whole, change.conflict) == (True, True)
    await project.land(change)
    assert (project / "a").read_bytes() == b"\0yours"


async def test_a_link_in_place_of_a_changed_file_is_a_conflict(project: Project) -> None:
    (project / "a").write_text("mine\n")
    change = await project.change(OutsideChanges({"a": (image("1\n"), FileImage.of_link(b"b"))}))
    assert change.conflict
    await project.land(change)
    assert (project / "a").readlink() == Path("b")


@pytest.mark.parametrize(("now", "conflict"), [(0o644, False), (0o600, True)])
async def test_a_mode_that_both_changed_is_a_conflict(project: Project, now: int, conflict: bool) -> None:
    (project / "a").write_text("1\n")
    (project / "a").chmod(now)
    change = await project.change(OutsideChanges(modes={"a": (0o644, 0o755)}))
    assert change.conflict is conflict
    await project.land(change)
    assert (project / "a").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("now", ["2\n", None, b"\0"])
async def test_the_same_change_on_both_sides_is_nothing(project: Project, now: bytes | str | None) -> None:
    if now is not None:
        (project / "a").write_bytes(now if isinstance(now, bytes) else now.encode())
    changes = outside(a=("1\n", now))
    assert (await project.merged(changes)).changes == []


async def test_crlf_stays_where_only_the_person_has_it(project: Project) -> None:
    (project / "a").write_bytes(b"1\r\n2\r\n3\r\n")
    await project.land(await project.change(outside(a=("1\n2\n3\n", "1\n2\nthree\n"))))
    assert (project / "a").read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_the_agents_line_ends_land_exactly(project: Project) -> None:
    (project / "a").write_bytes(b"1\r\n2\r\n")
    await project.land(await project.change(outside(a=(b"1\r\n2\r\n", b"1\n2\n"))))
    assert (project / "a").read_bytes() == b"1\n2\n"


async def test_converted_line_ends_do_not_hide_the_changed_lines_and_land_after_them(
    project: Project,
) -> None:
    (project / "a").write_bytes(b"1\r\n2\r\n3\r\n")
    changes = outside(a=(b"1\r\n2\r\n3\r\n", b"1\n2\nthree\n"))
    merged = await project.merged(changes)
    assert [hunk.new for hunk in merged.changes[0].hunks] == [("three",)]
    assert merged.left == {"a": "the program also changed the line ends; land again to review these"}
    await project.land(*merged.changes)
    assert (project / "a").read_bytes() == b"1\r\n2\r\nthree\r\n"
    again = await project.merged(changes)
    assert (again.changes[0].conflicts, again.left) == (frozenset(), {})
    await project.land(*again.changes)
    assert (project / "a").read_bytes() == b"1\n2\nthree\n"


async def test_a_missing_last_line_end_lands_beside_the_persons_lines(project: Project) -> None:
    (project / "a").write_bytes(b"mine\n1\n2\n")
    await project.land(await project.change(outside(a=(b"1\n2\n", b"1\n2"))))
    assert (project / "a").read_bytes() == b"mine\n1\n2"


async def test_a_moved_file_keeps_what_the_person_wrote_into_it(project: Project) -> None:
    (project / "old").write_text("1\nmine\n")
    change = await project.change(outside(old=("1\n", None), new=(None, "1\n")), {"new": "old"})
    assert (change.action, change.conflict) == ("move", False)
    await project.land(change)
    assert {name: data for name, (_, _, data) in tree(project.root).items()} == {"new": b"1\nmine\n"}


async def test_a_move_with_an_edit_is_merged(project: Project) -> None:
    text = "".join(f"line {at}\n" for at in range(20))
    (project / "old").write_text("mine\n" + text)
    change = await project.change(outside(old=(text, None), new=(None, text + "more\n")))
    await project.land(change)
    assert [*tree(project.root)] == ["new"]
    assert (project / "new").read_text() == f"mine\n{text}more\n"


async def test_a_move_to_a_name_that_the_person_took_is_a_deletion_and_a_conflict(project: Project) -> None:
    (project / "old").write_text("1\n")
    (project / "new").write_text("mine\n")
    merged = await project.merged(outside(old=("1\n", None), new=(None, "1\n")), {"new": "old"})
    assert [(one.path, one.action, bool(one.conflicts)) for one in merged.changes] == [
        ("old", "delete", False),
        ("new", "modify", True),
    ]


async def test_a_moved_file_that_the_person_deleted_comes_back_only_by_a_decision(project: Project) -> None:
    change = await project.change(outside(old=("1\n", None), new=(None, "1\n")), {"new": "old"})
    assert (change.path, change.action) == ("new", "create")


async def test_new_files_have_lines_and_keep_their_modes(project: Project) -> None:
    merged = await project.merged(
        OutsideChanges({"a": (GONE, image("1\n")), "b": (GONE, image("#!/bin/sh\n", 0o755))})
    )
    assert [change.images is None for change in merged.changes] == [True, False]
    await project.land(*merged.changes)
    assert tree(project.root)["b"] == ("file", 0o755, b"#!/bin/sh\n")


async def test_whatever_cannot_land_is_named(project: Project) -> None:
    (project / "d").mkdir()
    changes = OutsideChanges({".git/config": (GONE, image("x"))}, {"d": (0o755, 0o700)}, ["empty"])
    merged = await project.merged(changes, pipe="is neither a file nor a link nor a directory")
    assert merged.changes == []
    assert [*merged.left] == [".git/config", "d", "empty", "pipe"]


async def test_a_file_below_a_file_of_the_person_is_refused_and_nothing_lost(project: Project) -> None:
    (project / "d").write_text("mine\n")
    merged = await project.merged(OutsideChanges({"d/new": (GONE, image("1\n"))}))
    with pytest.raises(Exception, match="nothing was written"):
        await project.land(*merged.changes)
    assert (project / "d").read_text() == "mine\n"


@pytest.mark.slow
async def test_random_turns_of_agent_and_person_lose_nothing_and_land_nothing_unaccepted(
    project: Project,
) -> None:
    """The person edits, types, deletes and creates while the agent works; each landing takes a part."""
    for seed in range(300):
        random_ = random.Random(seed)
        await _turn(project, random_, seed)


NAMES = ("a", "b", "c")


async def _turn(project: Project, random_: random.Random, seed: int) -> None:
    project.buffers = Buffers()
    base: dict[str, bytes] = {}
    for name in NAMES:
        (project / name).unlink(missing_ok=True)
        if random_.random() < 0.8:
            base[name] = "".join(f"base{at}\n" for at in range(random_.randint(0, 8))).encode()
            (project / name).write_bytes(base[name])
    changes = OutsideChanges()
    for name in NAMES:
        ours = _edited(random_, base.get(name), "agent")
        if ours != base.get(name):
            changes.files[name] = (image(base.get(name)), image(ours))
    mine = _persons_turn(project, project.buffers, random_, base)
    merged = await project.merged(changes)
    taken = [change for change in merged.changes if not change.conflicts and random_.random() < 0.7]
    await project.land(*taken)
    for name in NAMES:
        buffer = await project.buffers.find(project / name)
        path, own = project / name, mine[name]
        text = buffer.text + "\n" if buffer else path.read_text() if path.exists() else None
        if name not in {change.path for change in taken}:
            assert text == (None if own is None else own.decode() or (buffer and "\n") or ""), seed
        if text is not None and own is not None:
            assert _by_person(text) == _by_person(own.decode()), seed


def _by_person(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("person")]


def _persons_turn(
    project: Project, buffers: Buffers, random_: random.Random, base: dict[str, bytes]
) -> dict[str, bytes | None]:
    mine: dict[str, bytes | None] = {}
    for name in NAMES:
        mine[name] = _edited(random_, base.get(name), "person") if random_.random() < 0.7 else base.get(name)
        path = project / name
        if mine[name] is None:
            path.unlink(missing_ok=True)
        elif path.exists() and random_.random() < 0.3 and mine[name] != base[name]:
            number = buffers.load(path, base[name].decode().removesuffix("\n"))
            buffers.types(number, (mine[name] or b"").decode().removesuffix("\n"))
        else:
            path.write_bytes(mine[name] or b"")
    return mine


def _edited(random_: random.Random, data: bytes | None, author: str) -> bytes | None:
    if data is None or random_.random() < 0.15:
        return None if random_.random() < 0.5 else f"{author} new\n".encode()
    lines = data.decode().splitlines()
    for turn in range(random_.randint(1, 3)):
        at = random_.randint(0, len(lines))
        lines[at : at + random_.choice((0, 1, 2))] = [f"{author}{turn}"] * random_.choice((0, 1, 2))
    return "".join(f"{line}\n" for line in lines).encode()
