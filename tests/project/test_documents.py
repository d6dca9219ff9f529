"""Files below `.tideate/`: read as untrusted, never written through a link."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import UnusableFile
from tideate_core.project import Documents, list_documents, read_document, remove_document, write_document

if TYPE_CHECKING:
    from pathlib import Path

NAME = ".tideate/workflow/reports/run-summary.json"
WAY = [".tideate", ".tideate/workflow", ".tideate/workflow/reports"]


def link(root: Path, name: str, target: Path) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(target)


def test_a_document_is_written_and_read(root: Path) -> None:
    assert write_document(root, NAME, b"one") == root / NAME
    write_document(root, NAME, b"two")
    assert read_document(root, NAME) == b"two"
    assert list_documents(root, ".tideate/workflow/reports") == ["run-summary.json"]


def test_a_document_that_is_there_can_be_kept(root: Path) -> None:
    write_document(root, NAME, b"one")
    with pytest.raises(FileExistsError):
        write_document(root, NAME, b"two", replace=False)
    assert read_document(root, NAME) == b"one"


@pytest.mark.parametrize("name", WAY)
def test_a_link_on_the_way_is_not_followed(home: Path, root: Path, name: str) -> None:
    target = home / "elsewhere"
    (target / "workflow/reports").mkdir(parents=True)
    (target / "reports").mkdir()
    (target / "run-summary.json").write_text("theirs")
    link(root, name, target)
    before = sorted(path.relative_to(target) for path in target.rglob("*"))
    with pytest.raises(UnusableFile, match="was not written: it is a link, or there is a link on the way"):
        write_document(root, NAME, b"ours")
    with pytest.raises(UnusableFile, match="a link"):
        read_document(root, f"{WAY[2]}/run-summary.json")
    with pytest.raises(UnusableFile, match="a link"):
        list_documents(root, WAY[2])
    remove_document(root, NAME)
    assert sorted(path.relative_to(target) for path in target.rglob("*")) == before
    assert (target / "run-summary.json").read_text() == "theirs"


def test_a_link_in_its_place_is_neither_read_nor_replaced(home: Path, root: Path) -> None:
    (home / "theirs").write_text("theirs")
    link(root, NAME, home / "theirs")
    with pytest.raises(UnusableFile, match="a link"):
        read_document(root, NAME)
    with pytest.raises(UnusableFile, match="something else than a regular file"):
        write_document(root, NAME, b"ours")
    assert (home / "theirs").read_text() == "theirs"
    assert (root / NAME).is_symlink()


@pytest.mark.parametrize("kind", ["fifo", "directory", "device"])
def test_what_is_no_regular_file_is_refused_at_once(root: Path, kind: str) -> None:
    path = root / NAME
    path.parent.mkdir(parents=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    done = threading.Event()

    def read() -> None:
        with pytest.raises(UnusableFile):
            read_document(root, NAME)
        with pytest.raises(UnusableFile):
            write_document(root, NAME, b"x")
        done.set()

    threading.Thread(target=read, daemon=True).start()
    assert done.wait(60)


def test_more_than_is_wanted_is_not_read(root: Path) -> None:
    write_document(root, NAME, b"x" * 2049)
    with pytest.raises(UnusableFile, match="larger than 2 KiB"):
        read_document(root, NAME, 2048)


@pytest.mark.slow
def test_too_many_names_are_not_listed(root: Path) -> None:
    (root / ".tideate/workflows").mkdir(parents=True)
    for number in range(10_001):
        (root / f".tideate/workflows/{number}.yaml").touch()
    with pytest.raises(UnusableFile, match="more than 10,000 names"):
        list_documents(root, ".tideate/workflows")


def test_what_is_not_there_is_not_listed_and_not_found(root: Path) -> None:
    assert list_documents(root, ".tideate/workflows") == []
    with pytest.raises(FileNotFoundError):
        read_document(root, NAME)
    remove_document(root, NAME)


def test_git_sees_only_what_belongs_to_the_team(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    team = ["config.toml", "context.json", "workflow.schema.json", "workflows/a.yaml", "agents/b.md"]
    team.append("prompts/deep/c.md")
    for name in [*team, "snapshots/1.json", "workflow/reports/run-summary.json", "checkpoints/x.json"]:
        write_document(root, f".tideate/{name}", b"x")
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-o", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(listed.stdout.split()) == sorted(f".tideate/{name}" for name in team)


def test_a_persons_gitignore_is_left_alone(root: Path) -> None:
    own = root / ".tideate/.gitignore"
    own.parent.mkdir()
    own.write_text("mine\n")
    write_document(root, NAME, b"x")
    assert own.read_text() == "mine\n"


def test_outside_of_a_project_documents_are_in_the_persons_state(home: Path) -> None:
    documents = Documents(home, "")
    assert documents.write("workflow/x.json", b"x") == home / "workflow/x.json"
    assert documents.read("workflow/x.json") == b"x"
    assert not (home / ".tideate").exists()
