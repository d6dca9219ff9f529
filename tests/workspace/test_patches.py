"""Patches: a run's edits as a patch, and patches applied to images within size limits."""

from __future__ import annotations

import base64
import os
import random
import shutil
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import InvalidInput, WorkspaceError
from tideate_core.workspace import patches
from tideate_core.workspace.file_images import ABSENT, FileImage
from tideate_core.workspace.patches import (
    LARGEST_RESULT,
    _binary_sizes,
    make_patch,
    patched_images,
    read_images,
    refuse_large_results,
)

if TYPE_CHECKING:
    from pathlib import Path


BEFORE = {
    ".gitattributes": b"* text=auto eol=crlf\n",
    "src/a.py": b"one\ntwo\nthree\n",
    "crlf.txt": b"a\r\nb\r\n",
    "no end.txt": b"last",
    "logo.png": bytes(range(256)) * 4,
    "gone.txt": b"here\n",
    "old/name.py": b"".join(b"line %d\n" % number for number in range(30)),
    "tool.sh": b"#!/bin/sh\n",
    "umläut\t.txt": b"x\n",
}
AFTER: dict[str, bytes | None] = {
    ".gitattributes": b"* text=auto eol=crlf -diff\n",
    "src/a.py": b"one\n2\nthree\n",
    "crlf.txt": b"a\r\nB\r\n",
    "no end.txt": b"last one",
    "logo.png": bytes(reversed(range(256))) * 4,
    "gone.txt": None,
    "old/name.py": None,
    "new/name.py": BEFORE["old/name.py"] + b"more\n",
    "new/file.txt": b"new\n",
    "umläut\t.txt": b"y\n",
}


def lay_out(root: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def tree(root: Path) -> dict[str, tuple[str, bytes, bool]]:
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()), False)
        elif path.is_file() and not name.startswith(".git/"):
            found[name] = ("file", path.read_bytes(), os.access(path, os.X_OK))
    return found


def test_what_git_apply_makes_of_it_is_what_the_run_made(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    lay_out(root, BEFORE)
    (root / "link").symlink_to("src/a.py")
    shutil.copytree(root, other, symlinks=True)
    paths = [*{**BEFORE, **AFTER}, "link"]
    before = read_images(root, paths)
    for path, content in AFTER.items():
        if content is None:
            (root / path).unlink()
        else:
            lay_out(root, {path: content})
    (root / "tool.sh").chmod(0o755)
    (root / "link").unlink()
    (root / "link").symlink_to("new/file.txt")
    patch = make_patch(before, read_images(root, paths))
    assert b"rename from old/name.py" in patch
    done = subprocess.run(["git", "apply", "-"], cwd=other, input=patch, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert tree(other) == tree(root)


def test_where_nothing_was_changed_it_is_empty(tmp_path: Path) -> None:
    lay_out(tmp_path, {"a.txt": b"a\n"})
    states = read_images(tmp_path, ["a.txt", "not there"])
    assert make_patch(states, states) == b""


def test_what_the_project_configures_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A custom diff program would produce an unusable patch."""
    config = tmp_path / "gitconfig"
    config.write_text("[diff]\n\tnoprefix = true\n\texternal = false\n[color]\n\tui = always\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    before = read_images(tmp_path, ["a.txt"])
    lay_out(tmp_path, {"a.txt": b"a\n"})
    patch = make_patch(before, read_images(tmp_path, ["a.txt"]))
    assert patch.startswith(b"diff --git a/a.txt b/a.txt\nnew file mode 100644\n")


def test_without_git_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git"):
        make_patch({}, {})


def test_a_patch_below_a_link_to_itself_is_refused_and_no_crash() -> None:
    gone = FileImage(ABSENT)
    before = {"a": FileImage.of_link(b"a"), "a/a": gone}
    after = {"a": gone, "a/a": FileImage.of_file(b"x\n", 0o644)}
    patch = make_patch(before, after)
    with pytest.raises(InvalidInput, match="symbolic link"):
        patched_images(patch, lambda path: before.get(path, gone))


MIB = 1 << 20
NOTHING = FileImage(ABSENT)


def patch_between(before: bytes | None, after: bytes | None) -> bytes:
    images = [NOTHING if data is None else FileImage.of_file(data, 0) for data in (before, after)]
    return make_patch({"a.bin": images[0]}, {"a.bin": images[1]})


def random_bytes(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.mark.slow
def test_a_literal_that_grows_a_thousandfold_is_refused() -> None:
    patch = patch_between(None, bytes(LARGEST_RESULT + 1))
    assert len(patch) < 300_000
    with pytest.raises(InvalidInput, match="makes a file of 32 MiB"):
        patched_images(patch, lambda _name: NOTHING)


@pytest.mark.slow
def test_a_delta_that_repeats_its_source_is_refused() -> None:
    """The delta is small; only its first bytes reveal the size of the result."""
    part = random_bytes(1, MIB)
    patch = patch_between(part, part * 33)
    assert len(patch) < 3 * MIB
    with pytest.raises(InvalidInput, match="makes a file of 33 MiB"):
        patched_images(patch, lambda _name: FileImage.of_file(part, 0))


@pytest.mark.slow
def test_many_files_that_are_large_together_are_refused_before_git_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = patch_between(None, bytes(30 * MIB)).decode()
    patch = "".join(one.replace("a.bin", f"{number}.bin") for number in range(5)).encode()
    monkeypatch.setattr(patches, "run_git", lambda *_args, **_rest: pytest.fail("git was started"))
    with pytest.raises(InvalidInput, match="150 MiB together"):
        patched_images(patch, lambda _name: NOTHING)


def test_many_copies_of_a_large_file_are_refused() -> None:
    header = "diff --git a/big b/{0}\nsimilarity index 100%\ncopy from big\ncopy to {0}\n"
    patch = "".join(header.format(f"copy{number}") for number in range(9)).encode()
    big = FileImage.of_file(bytes(16 * MIB), 0)
    with pytest.raises(InvalidInput, match="144 MiB together"):
        patched_images(patch, lambda name: big if name == "big" else NOTHING)


def test_what_is_small_enough_is_applied() -> None:
    before = random_bytes(2, 200_000)
    after = before[:100_000] + b"between" + before[100_000:] * 2
    made = patched_images(patch_between(before, after), lambda _name: FileImage.of_file(before, 0))
    assert made[1]["a.bin"].data == after


@pytest.mark.parametrize("seed", range(20))
def test_the_declared_sizes_are_those_of_the_results(seed: int, tmp_path: Path) -> None:
    """Random pairs, written by git as literals and as deltas."""
    chance = random.Random(seed)
    before = random_bytes(seed, chance.randrange(1, 60_000)) + b"\0"
    cut = chance.randrange(len(before))
    after = random_bytes(seed + 100, chance.randrange(5000)) + before[:cut] * chance.randrange(1, 4) + b"\0"
    sizes = list(_binary_sizes(patch_between(before, after)))
    assert len(after) in sizes
    assert len(before) in sizes
    assert max(sizes) <= max(len(before), len(after))


def test_words_of_a_file_or_a_message_are_no_sizes() -> None:
    text = "literal 99999999999\ndelta 99999999999\n"
    refuse_large_results(f"From x\n\n{text}---\n".encode() + patch_between(b"a\n", text.encode()))
    refuse_large_results(binary_hunk("literal 0", "") + b"-- \nFrom x\n\nliteral translation of it\n")


def encoded(data: bytes, width: int = 52) -> str:
    """Encode bytes as git's lines, each starting with its length as a letter."""
    parts = [data[at : at + width] for at in range(0, len(data), width)]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    padded = [base64.b85encode(part + bytes(-len(part) % 4)).decode() for part in parts]
    return "".join(f"{letters[len(part) - 1]}{text}\n" for part, text in zip(parts, padded, strict=True))


def binary_hunk(head: str, lines: str) -> bytes:
    ids = f"{'0' * 40}..{'1' * 40}"
    return f"diff --git a/x b/x\nindex {ids}\nGIT binary patch\n{head}\n{lines}\n".encode()


@pytest.mark.parametrize(
    "head",
    [
        f"literal  {33 * MIB}",
        f"literal +{33 * MIB}",
        f"literal \t{33 * MIB}\t",
        f"literal {33 * MIB} x",
        f"literal {'0' * 5000}{33 * MIB}",
        f"delta {33 * MIB}z",
        "literal -18446744073674948608",
        f"literal {'9' * 30}",
    ],
)
def test_a_size_that_git_reads_and_does_not_write_is_refused(head: str) -> None:
    with pytest.raises(InvalidInput, match="an odd size"):
        refuse_large_results(binary_hunk(head, ""))


SIZES = b"\xe8\x07" + b"\x80\x80\x80\x11"
"""Start of a delta from 1,000 bytes to 34 MiB."""
OVERLONG = b"\xe8\x87" + b"\x80" * 16 + b"\x00" + SIZES[2:]


@pytest.mark.parametrize(
    ("delta", "width", "empty_blocks"),
    [(SIZES, 52, 0), (SIZES, 1, 0), (SIZES, 5, 0), (SIZES, 52, 2000), (OVERLONG, 52, 0)],
)
def test_the_size_in_a_delta_is_found_however_it_is_written(
    delta: bytes, width: int, empty_blocks: int
) -> None:
    packed = zlib.compress(delta + b"\x80" * 9)
    packed = packed[:2] + b"\x00\x00\x00\xff\xff" * empty_blocks + packed[2:]
    with pytest.raises(InvalidInput, match=r"makes a file of|an odd size"):
        refuse_large_results(binary_hunk(f"delta {len(delta) + 9}", encoded(packed, width)))


MEASURED = """
import re, resource, sys
from pathlib import Path
from tideate_core.workspace.file_images import ABSENT, FileImage
from tideate_core.workspace.patches import patched_images

patched_images(sys.stdin.buffer.read(), lambda _name: FileImage(ABSENT))
# getrusage's figure of ourselves would have what the process that started us had used
print(int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in KiB on Linux")
def test_the_largest_patch_that_is_taken_needs_no_more_than_twice_its_result() -> None:
    one = patch_between(None, bytes(31 * MIB)).decode()
    patch = "".join(one.replace("a.bin", f"{number}.bin") for number in range(4)).encode()
    done = subprocess.run([sys.executable, "-c", MEASURED], input=patch, capture_output=True, check=True)
    ours, gits = map(int, done.stdout.split())
    assert ours < 2 * 124 + 60
    assert gits < 2 * 124 + 60
