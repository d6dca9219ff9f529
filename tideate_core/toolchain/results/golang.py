"""What ``go test -json`` prints: events, a line each, read as they come."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from tideate_core.process import Capture
from tideate_core.toolchain.failures import parse_failures
from tideate_core.toolchain.failures.failure import Failure
from tideate_core.toolchain.failures.native import GO_SAID, folder_in, go_module
from tideate_core.toolchain.results.tally import MOST, Tally, told

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["GoEvents"]

_FOLLOWED: Final = 10_000
"""Tests whose words are kept at a time."""
_KEPT: Final = 1 << 20
"""Bytes of the text that all events make."""
_UNBUILT: Final = re.compile(r"FAIL\t(?P<package>\S{1,300}) \[(?:setup|build) failed\]\s*$")
"""Before Go 1.24 this is no event."""
_ENDS: Final = frozenset({"pass", "fail", "skip"})


class GoEvents:
    """Counts tests by their events, and puts what they print together again."""

    def __init__(self, root: Path) -> None:
        self.tally = Tally()
        self._root = root
        self._said: dict[tuple[str, str], tuple[str, Failure | None]] = {}
        """Of a test that runs: the first line that it said, with its place where it named one."""
        self._failed: dict[str, None] = {}
        """Packages of which a test failed."""
        self._broken: list[str] = []
        """Packages that failed though none of their tests did: they could not be built, or crashed."""
        self._module = go_module(root)
        self._text = Capture(_KEPT)

    def feed(self, line: str) -> None:
        """Take a line of the output, whatever it is."""
        try:
            event = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("Action"), str):
            self._text.feed(f"{line}\n".encode("utf-8", "replace"))
            if unbuilt := _UNBUILT.match(line):
                self._count("fail", unbuilt["package"], "")
            return
        package, test = str(event.get("Package", ""))[:300], str(event.get("Test", ""))[:400]
        if event["Action"] in ("output", "build-output"):
            self._hear(package, test, str(event.get("Output", "")))
        else:
            self._count(event["Action"], package, test)

    def text(self) -> str:
        """Return what was printed, as without ``-json``."""
        return self._text.output().text

    def _hear(self, package: str, test: str, output: str) -> None:
        self._text.feed(output.encode("utf-8", "replace"))
        if not test:
            return
        key, known = (package, test), self._said.get((package, test))
        if known is not None and known[1] is not None:
            return
        line = output.rstrip("\n")[:2_000]
        if said := GO_SAID.match(line):
            folder = folder_in(package, self._module)
            file = f"{folder}/{said['file']}" if folder else said["file"]
            self._said[key] = (said["message"], Failure(file, int(said["line"]), None, said["message"]))
        elif known is None and line.strip() and not line.lstrip().startswith(("=== ", "--- ")):
            self._said[key] = (line.strip(), None)
        _bound(self._said)

    def _count(self, action: str, package: str, test: str) -> None:
        said, place = self._said.pop((package, test), ("", None)) if action in _ENDS else ("", None)
        if test and action == "pass":
            self.tally.passed += 1
        elif test and action == "skip":
            self.tally.skipped += 1
        elif test and action == "fail":
            self._failed[package] = None
            _bound(self._failed)
            self.tally.failed += 1
            self.tally.add(told(f"{package}.{test}" if package else test, said or "failed", place))
        elif action == "fail" and package not in self._failed and package not in self._broken:
            self.tally.errors += 1
            if len(self._broken) < MOST:
                self._broken.append(package)

    def end(self, output: str = "") -> Tally:
        """Say why packages failed of which no test did; returns the whole.

        :param output: all that was printed, where there is more than the events: the compiler's errors.
        """
        text = output or self.text()
        wrong = parse_failures(text, root=self._root, tool="go").found if self._broken else ()
        for package in self._broken:
            folder = folder_in(package.partition(" ")[0], self._module)
            own = (one for one in wrong if one.file.rpartition("/")[0] == folder)
            first = next(own, None)
            said = first.message if first else "failed before or after its tests"
            self.tally.add(told(package, said, first, error=True))
        self._broken = []
        return self.tally


def _bound(kept: dict[Any, Any]) -> None:
    """Let go of the oldest."""
    if len(kept) > _FOLLOWED:
        del kept[next(iter(kept))]
