"""The trees that snapshots are made of: one made up, one of real files."""

from __future__ import annotations

import os
import random
import subprocess
import sysconfig
from pathlib import Path
from typing import Final

WORDS: Final = ("def", "return", "import", "class", "self", "value", "result", "for", "in", "true", "path")
CHANGED: Final = 5


def synthetic(root: Path, files: int, size: int) -> str:
    """Create text files, some with random content like pictures; return their names."""
    chance = random.Random(7)
    mean = size // files
    root.mkdir()
    for number in range(files):
        path = root / f"package{number % 100}" / f"part{number % 7}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        length = round(mean * chance.uniform(0.2, 1.8))
        if number % 20 == 0:
            path.write_bytes(chance.randbytes(length))
        else:
            words = chance.choices(WORDS, k=length // 6)
            words[::9] = [f"{word}_{chance.randrange(5000)}\n" for word in words[::9]]
            path.write_bytes(" ".join(words).encode()[:length].ljust(length))
    _init(root)
    return f"{files:,} made up files, {size / 1e6:,.0f} MB"


def copied(root: Path, files: int) -> str:
    """Copy the packages of this environment, again under another name until there are enough files."""
    source, count, copy, size = Path(sysconfig.get_path("purelib")), 0, 0, 0
    root.mkdir()
    while count < files:
        for package in sorted(source.iterdir()):
            if count >= files:
                break
            count, size = _copy(package, root / f"copy{copy}" / package.name, (count, size), copy)
        copy += 1
    _init(root)
    return f"{count:,} files of installed packages, {size / 1e6:,.0f} MB"


def _init(root: Path) -> None:
    """Make it a repository with ignored files, like real projects."""
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    (root / ".gitignore").write_text("__pycache__/\nnode_modules/\n*.log\n")


def _copy(source: Path, target: Path, so_far: tuple[int, int], copy: int) -> tuple[int, int]:
    """Copy a package without compiled and oversized files."""
    count, size = so_far
    paths = [source] if source.is_file() else sorted(source.rglob("*"))
    for path in paths:
        if not path.is_file() or path.is_symlink() or "__pycache__" in path.parts:
            continue
        data = path.read_bytes()
        if len(data) > 20_000_000:
            continue
        place = target if path is source else target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        # so that no copy has the contents of another
        place.write_bytes(data if copy == 0 else data + b"\n# %d" % copy)
        count, size = count + 1, size + len(data)
    return count, size


def change(root: Path, mark: str) -> dict[str, bytes]:
    """Change five files; return their former content."""
    chance = random.Random(mark)
    found = (path for path in root.rglob("*.py") if ".tideate" not in path.parts and path.stat().st_size)
    paths = chance.sample(sorted(found), CHANGED)
    before = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
    for path in paths:
        path.write_bytes(path.read_bytes() + f"\n# {mark}\n".encode())
    return before


def settle(root: Path) -> None:
    """Wait until the file system's clock has left the moment of the last change."""
    probe = root / ".tideate-probe"
    probe.touch()
    first = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == first:
        os.utime(probe)
    probe.unlink()
