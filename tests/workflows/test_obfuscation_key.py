"""Creation, permissions and races of the obfuscation key."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.errors import ConfigError
from tideate_core.workflows import workflow_key

if TYPE_CHECKING:
    from pathlib import Path

RACER = """
import sys
from pathlib import Path
from tideate_core.workflows.obfuscation_key import workflow_key

print("ready", flush=True)
sys.stdin.readline()
print(workflow_key(Path(sys.argv[1])).hex())
"""


def key_file(private: Path, content: bytes = b"k" * 32) -> Path:
    path = private / "keys" / "workflow.key"
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_bytes(content)
    path.chmod(0o600)
    return path


def test_a_key_is_made_once_and_kept(tmp_path: Path) -> None:
    key = workflow_key(tmp_path)
    assert len(key) == 32
    assert len(set(key)) > 10
    assert workflow_key(tmp_path) == key
    assert (tmp_path / "keys" / "workflow.key").read_bytes() == key


def test_every_project_has_its_own_key(tmp_path: Path) -> None:
    assert workflow_key(tmp_path / "a") != workflow_key(tmp_path / "b")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_person_may_read_the_key(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        workflow_key(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE((tmp_path / "keys" / "workflow.key").stat().st_mode) == 0o600


def test_nothing_else_is_left_behind(tmp_path: Path) -> None:
    workflow_key(tmp_path)
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == [".gitignore", "workflow.key"]


@pytest.mark.concurrency
def test_processes_that_come_first_at_once_get_the_same_key(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    # all of them stand at the line before the first one starts
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    keys = {racer.communicate(timeout=60)[0].strip() for racer in racers}
    assert keys == {workflow_key(tmp_path).hex()}


def test_who_comes_second_takes_the_first_ones_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, first = os.link, b"f" * 32

    def late(*args: Any, **kwargs: Any) -> None:
        path = tmp_path / "keys" / "workflow.key"
        path.write_bytes(first)
        path.chmod(0o600)
        link(*args, **kwargs)

    monkeypatch.setattr(os, "link", late)
    assert workflow_key(tmp_path) == first


def test_a_key_that_is_removed_while_it_is_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, path = os.link, tmp_path / "keys" / "workflow.key"

    def removed(*args: Any, **kwargs: Any) -> None:
        link(*args, **kwargs)
        path.unlink(missing_ok=True)

    with monkeypatch.context() as patched, pytest.raises(ConfigError, match="was removed while it was made"):
        patched.setattr(os, "link", removed)
        workflow_key(tmp_path)
    assert workflow_key(tmp_path) == path.read_bytes()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_read_is_refused_with_what_to_do(tmp_path: Path, mode: int) -> None:
    path = key_file(tmp_path)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=f"chmod 600 {path}"):
        workflow_key(tmp_path)
    path.chmod(0o600)
    assert workflow_key(tmp_path) == b"k" * 32


def test_a_directory_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    directory = key_file(tmp_path).parent
    directory.chmod(0o770)
    with pytest.raises(ConfigError, match=f"chmod 700 {directory}"):
        workflow_key(tmp_path)


@pytest.mark.parametrize("content", [b"", b"k" * 31, b"k" * 33])
def test_a_key_of_another_length_is_damaged_and_not_replaced(tmp_path: Path, content: bytes) -> None:
    path = key_file(tmp_path, content)
    with pytest.raises(ConfigError, match="is damaged: a key has 32 bytes"):
        workflow_key(tmp_path)
    assert path.read_bytes() == content


def test_a_link_in_the_place_of_the_key_is_refused(tmp_path: Path) -> None:
    elsewhere = key_file(tmp_path / "elsewhere")
    (tmp_path / "keys").mkdir(mode=0o700)
    (tmp_path / "keys" / "workflow.key").symlink_to(elsewhere)
    with pytest.raises(ConfigError, match=r"workflow\.key is a link"):
        workflow_key(tmp_path)


def test_a_dangling_link_does_not_make_a_key_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    (tmp_path / "keys" / "workflow.key").symlink_to(tmp_path / "made")
    with pytest.raises(ConfigError, match="is a link"):
        workflow_key(tmp_path)
    assert not (tmp_path / "made").exists()


def test_a_link_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "keys").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is a link"):
        workflow_key(tmp_path)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_pipe_in_the_place_of_the_key_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "keys" / "workflow.key", 0o600)
    with pytest.raises(ConfigError, match="not a regular file"):
        workflow_key(tmp_path)


def test_what_stands_in_the_way_is_explained(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("")
    with pytest.raises(ConfigError, match=r"workflow\.key, the key of obfuscated names, cannot be used"):
        workflow_key(tmp_path)
