"""Attacks: hostile files that are placed at a path of `.tideate/`."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.hostile.forgeries import GENERIC, Forgeries

if TYPE_CHECKING:
    from tests.hostile.targets import Target

__all__ = ["EXPENSIVE", "Hostility", "Pool", "Soil", "hostilities", "plant"]

SPARSE: Final = 1024**3
CROWD: Final = 100_000


@dataclass(frozen=True, slots=True)
class Hostility:
    """Attack at a path."""

    target: Target
    malice: str
    forgery: str = ""
    """Name of the content, for the attack `forged`."""

    @property
    def kind(self) -> str:
        return f"{self.malice}:{self.forgery}" if self.forgery else self.malice


class Pool:
    """Resources that are slow to create or need root's rights, reused by moving them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._out: dict[Path, Path] = {}

    def crowd(self, suffix: str) -> Path:
        """Return a directory with a hundred thousand files."""
        crowd = self._directory / f"crowd{suffix}"
        if not crowd.exists():
            crowd.mkdir()
            for number in range(CROWD):
                os.close(os.open(crowd / f"n{number:06}{suffix}", os.O_CREAT | os.O_WRONLY, 0o644))
        return crowd

    def device(self) -> Path | None:
        """Return an endless device, or None without the right to create one."""
        device = self._directory / "zero"
        return device if device.exists() else None

    def lend(self, thing: Path, at: Path) -> None:
        thing.rename(at)
        self._out[at] = thing

    def take_back(self) -> None:
        """Take lent resources out of a tree."""
        for at, thing in self._out.items():
            if os.path.lexists(at):
                at.rename(thing)
        self._out.clear()


@dataclass(frozen=True, slots=True)
class Soil:
    """Environment for placing attacks."""

    tree: Path
    """`.tideate` of the attacked project."""
    home: Path
    sibling: Path
    forged: Forgeries
    pool: Pool

    @property
    def mirror(self) -> Path:
        """Directory in the home with everything that `.tideate/` may contain."""
        return self.home / "Documents" / "mirror"


def plant(hostility: Hostility, soil: Soil) -> None:
    """Place an attack at its path, replacing existing files."""
    path = soil.tree / hostility.target.name if hostility.target.name else soil.tree
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir() and hostility.malice not in _IN_PLACE:
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _MALICES[hostility.malice](path, hostility, soil)


def hostilities(target: Target, forged: Forgeries) -> list[Hostility]:
    """Return all attacks for a path."""
    kinds = _OF_DIRECTORIES if target.is_directory else _OF_FILES
    contents = () if target.is_directory else (*GENERIC, *forged[target.name])
    return [
        *(Hostility(target, "forged", content) for content in contents),
        *(Hostility(target, kind) for kind in kinds),
    ]


def _content(hostility: Hostility, soil: Soil) -> bytes:
    name = hostility.forgery
    own = soil.forged[hostility.target.name]
    return own[name] if name in own else GENERIC[name]


def _usual(target: Target, soil: Soil) -> bytes:
    return next(iter(soil.forged[target.name].values()), b"{}")


def _forged(path: Path, hostility: Hostility, soil: Soil) -> None:
    path.write_bytes(_content(hostility, soil))


def _link_file(path: Path, _: Hostility, soil: Soil) -> None:
    path.symlink_to(soil.home / ".ssh" / "id_ed25519")


def _link_directory(path: Path, hostility: Hostility, soil: Soil) -> None:
    target = hostility.target
    path.symlink_to(soil.mirror / target.name if target.is_directory else soil.home / "Documents")


def _link_mirror(path: Path, hostility: Hostility, soil: Soil) -> None:
    path.symlink_to(soil.mirror / hostility.target.name)


def _link_sibling(path: Path, hostility: Hostility, soil: Soil) -> None:
    path.symlink_to(soil.sibling / ".tideate" / hostility.target.name)


def _link_nothing(path: Path, _: Hostility, soil: Soil) -> None:
    path.symlink_to(soil.home / "made-through-a-link")


def _link_loop(path: Path, _: Hostility, __: Soil) -> None:
    path.symlink_to(path.name)


def _fifo(path: Path, _: Hostility, __: Soil) -> None:
    os.mkfifo(path)


def _device(path: Path, _: Hostility, soil: Soil) -> None:
    device = soil.pool.device()
    if device:
        soil.pool.lend(device, path)
    else:
        path.symlink_to("/dev/zero")


def _socket(path: Path, _: Hostility, __: Soil) -> None:
    made = socket.socket(socket.AF_UNIX)
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(path.parent)  # the path of a socket is limited to about 100 bytes
        made.bind(path.name)
    finally:
        os.fchdir(before)
        os.close(before)
        made.close()


def _wrong_kind(path: Path, hostility: Hostility, _: Soil) -> None:
    if hostility.target.is_directory:
        path.write_bytes(b"a file")
    else:
        (path / "0001").mkdir(parents=True)
        (path / "0001" / "manifest.json").write_bytes(b"{}")


def _sparse(path: Path, hostility: Hostility, soil: Soil) -> None:
    with path.open("wb") as file:
        file.write(_usual(hostility.target, soil))
        file.truncate(SPARSE)


def _crowd(path: Path, hostility: Hostility, soil: Soil) -> None:
    soil.pool.lend(soil.pool.crowd(hostility.target.suffix), path)


def _closed(path: Path, hostility: Hostility, soil: Soil) -> None:
    if hostility.target.is_directory:
        path.mkdir(exist_ok=True)
    else:
        path.write_bytes(_usual(hostility.target, soil))
    path.chmod(0)


def _odd_name(path: Path, hostility: Hostility, soil: Soil) -> None:
    """Add a name that is not UTF-8, has a line end and moves the cursor."""
    odd = b"\xff\xfe\n\x1b[2J" + os.fsencode(hostility.target.suffix or path.suffix)
    content = b"{}" if hostility.target.is_directory else _usual(hostility.target, soil)
    place = path if hostility.target.is_directory else path.parent
    place.mkdir(parents=True, exist_ok=True)
    with open(os.path.join(os.fsencode(place), odd), "wb") as file:  # noqa: PTH118, PTH123 no text
        file.write(content)


Planter = Callable[[Path, Hostility, Soil], None]
_MALICES: Final[Mapping[str, Planter]] = {
    "forged": _forged,
    "link to a file": _link_file,
    "link to a directory": _link_directory,
    "link to its like in the home": _link_mirror,
    "link to a trusted project": _link_sibling,
    "link to nothing": _link_nothing,
    "link to itself": _link_loop,
    "FIFO": _fifo,
    "device": _device,
    "socket": _socket,
    "other kind": _wrong_kind,
    "1 GiB sparse": _sparse,
    "100,000 entries": _crowd,
    "no permission": _closed,
    "odd name": _odd_name,
}
EXPENSIVE: Final = frozenset({"100,000 entries", "1 GiB sparse"})
"""Slow attacks: at most one in each tree."""
_IN_PLACE: Final = ("no permission", "odd name")
"""Attacks that keep a directory's content."""
_OF_DIRECTORIES: Final = [
    kind for kind in _MALICES if kind not in ("forged", "1 GiB sparse", "link to its like in the home")
]
_OF_FILES: Final = [kind for kind in _MALICES if kind not in ("forged", "100,000 entries")]
