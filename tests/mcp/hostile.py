"""Hostile values for tool arguments, and a root with traps that show their effects."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.mcp.served import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["LINKS", "OPTIONS", "WAYS_OUT", "TrappedRoot", "Traced", "known", "spots", "values"]

VALUES = Path(__file__).parent / "fixtures" / "hostile.json"
"""`{p}` is a file that must not appear, `{o}` and `{s}` a folder and a file outside, `{r}` the root."""

SECRET = "the-secret-outside-of-the-root"
STRACE = shutil.which("strace")
TRACED = "execve,execveat,open,openat,openat2,creat"
OPENED = re.compile(r'(?:open|openat|openat2|creat)\((?:[^,"]+, )?"((?:[^"\\]|\\.)*)".*\) = \d+')
RAN = re.compile(r'execve(?:at)?\((?:[^,"]+, )?"((?:[^"\\]|\\.)*)".*\) = 0')


WAYS_OUT = (
    *("../ws-evil/secret", "{r}-evil/secret", "{r}-evil", "../ws-evil"),  # CVE-2025-53110
    *(
        "..",
        "../outside",
        "{o}",
        "{s}",
        "/",
        "{r}/..",
        "../../../../../../etc/passwd",
    ),  # CVE-2025-68143, 68145
)
"""Paths outside the root, of known vulnerabilities of such servers; every argument gets them.

That a server command from a project's files needs trust (CVE-2026-30623) is the client's: tests/mcp/client.
That another host and site are refused (CVE-2025-66416 and 49596) is the transport's: tests/mcp/transport.
What a shell would read (CVE-2026-25546 and similar) is among the other values.
"""
LINKS = ("linked.txt", "link/secret", "chain/secret", "inner/parent/secret", "dangling", "loop", "link/new")
"""Links out of the root (CVE-2025-53109)."""
OPTIONS = ("--output={p}", "-x", "--exec=touch")
"""Names like options (CVE-2025-68144 and similar)."""


def known(place: TrappedRoot, values: Iterable[str]) -> list[str]:
    """Return values with their places."""
    places = {"p": place.marker, "o": place.outside, "s": place.outside / "secret", "r": place.root}
    return [value.format(**places) for value in values]


def values(place: TrappedRoot) -> list[str]:
    """Return at least 200 distinct hostile values for a place."""
    groups = json.loads(VALUES.read_text())
    long = [unit * times for unit, times in groups.pop("repeated")]
    every = [*chain.from_iterable(groups.values()), *long]
    return list(dict.fromkeys(known(place, every)))


def spots(schema: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Yield each argument that contains a string, with a function that sets this string."""
    definitions = schema.get("$defs", {})
    for name, shape in schema.get("properties", {}).items():
        for put in _ways(shape, definitions):
            yield name, put


def _ways(shape: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Callable[[str], Any]]:
    if "$ref" in shape:
        shape = definitions[shape["$ref"].rpartition("/")[2]]
    for one in shape.get("anyOf", []):
        yield from _ways(one, definitions)
    if shape.get("type") == "string":
        yield lambda value: value
    elif shape.get("type") == "array":
        for put in _ways(shape.get("items", {}), definitions):
            yield lambda value, put=put: [put(value)]  # type: ignore[misc]
    elif shape.get("type") == "object":
        fields = shape.get("properties", {})
        for name, field in fields.items():
            for put in _ways(field, definitions):
                others = {other: "a" for other in shape.get("required", []) if other != name}
                yield lambda value, name=name, put=put, others=others: {**others, name: put(value)}  # type: ignore[misc]


class TrappedRoot:
    """A root with links out of it, and files outside that must stay untouched."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.root = self.directory / "ws"
        self.outside = self.directory / "outside"
        self.marker = self.directory / "marker"
        self.bin = self.directory / "bin"
        self.argv = self.directory / "state" / "argv"
        for folder in (self.root / "inner", self.outside, self.directory / "ws-evil", self.bin):
            folder.mkdir(parents=True)
        self.argv.parent.mkdir()
        for folder in (self.outside, self.directory / "ws-evil"):
            (folder / "secret").write_text(SECRET)
            (folder / "Makefile").write_text(f"all test clean:\n\ttouch {self.marker}\n")
        self._fill()
        self._repository()
        self._program("cargo")
        self.before = self.fingerprint()

    def _fill(self) -> None:
        (self.root / "a.txt").write_text("one\ntwo\n")
        (self.root / "Cargo.toml").write_text('[package]\nname = "ws"\n')
        (self.root / "tests").mkdir()
        (self.root / "tests" / "ok.rs").write_text("#[test]\nfn ok() {}\n")
        links: dict[str, str | Path] = {
            "link": self.outside,
            "linked.txt": self.outside / "secret",
            "chain": "link",
            "dangling": self.outside / "new",
            "loop": "loop",
            "inner/parent": "../../outside",
        }
        for name, target in links.items():
            (self.root / name).symlink_to(target)

    def _repository(self) -> None:
        for words in (
            ["init", "-q", "-b", "main"],
            ["config", "user.name", "Nora"],
            ["config", "user.email", "nora@example.com"],
            ["add", "a.txt", "Cargo.toml", "tests"],
            ["commit", "-q", "-m", "first"],
            ["branch", "other"],
        ):
            subprocess.run(["git", *words], cwd=self.root, check=True, env=self.environment())

    def _program(self, name: str) -> None:
        """A program that silently records its arguments, one a line."""
        program = self.bin / name
        program.write_text(f'#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done >>"{self.argv}"\n')
        program.chmod(0o755)

    def trust(self) -> None:
        """Trust the project's own commands, as a person would."""
        command = [sys.executable, "-m", "tideate_core.cli", "trust", "--yes", "--root", str(self.root)]
        subprocess.run(command, cwd=self.root, check=True, env=self.environment(), capture_output=True)

    def called(self) -> set[str]:
        """Return the recorded arguments of the project's own command."""
        return set(self.argv.read_text().split("\n")) if self.argv.exists() else set()

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.directory / "state"),
            "XDG_STATE_HOME": str(self.directory / "state"),
            "XDG_CONFIG_HOME": str(self.directory / "state" / "config"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }

    def fingerprint(self) -> dict[str, str]:
        """Return everything outside the root, except the servers' own state."""
        found = {}
        kept = [top for top in self.directory.iterdir() if top.name not in ("ws", "state", "trace")]
        for path in sorted(chain(kept, *(top.rglob("*") for top in kept))):
            name = path.relative_to(self.directory)
            content = path.read_bytes() if path.is_file() else str(path.lstat().st_mode).encode()
            found[str(name)] = hashlib.sha256(content).hexdigest()
        return found

    def unharmed(self) -> None:
        assert self.fingerprint() == self.before, "something outside of the root was written"
        assert not self.marker.exists()


class Traced(Served):
    """A server traced by strace, if installed, for its programs and files."""

    def __init__(self, command: list[str], environment: Mapping[str, str], place: TrappedRoot) -> None:
        self._log = place.directory / "trace"
        strace = [
            STRACE or "",
            "-f",
            "-qq",
            "-s",
            "4096",
            "--seccomp-bpf",
            "-e",
            f"trace={TRACED}",
            "-o",
            str(self._log),
        ]
        super().__init__([*strace, *command] if STRACE else command, environment, place.root)

    def lines(self) -> list[str]:
        return self._log.read_text(errors="replace").splitlines() if STRACE else []

    def programs(self) -> set[str]:
        """Return the names of all started programs."""
        return {Path(found[1]).name for line in self.lines() if (found := RAN.search(line))}

    def opened(self) -> set[str]:
        """Return the paths of all opened files, as given to the system."""
        return {found[1] for line in self.lines() if (found := OPENED.search(line))}
