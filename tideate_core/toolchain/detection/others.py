"""Tools of projects whose language brings them, and of Makefiles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tideate_core.process import on_path
from tideate_core.toolchain.detection.tools import Check, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.toolchain.detection.files import ProjectFiles

__all__ = ["CMakeTools", "CargoTools", "GoTools", "MakeTools"]

_TARGETS: Final[Mapping[Check, tuple[str, ...]]] = {
    Check.TYPE_CHECK: ("typecheck", "type-check", "type_check", "types", "mypy"),
    Check.LINT: ("lint", "check-lint"),
    Check.TESTS: ("test", "tests", "check"),
    Check.BUILD: ("build", "all"),
    Check.DOCUMENTATION: ("docs", "doc", "html"),
}

_BUILDS: Final = ("build", "_build", "out", "cmake-build-debug", "cmake-build-release")
"""Where CMake is told to build, by habit."""

_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""


class CargoTools:
    """Detects the tools of a Rust project."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        self._files = files
        self._environment = environment

    def applies(self) -> bool:
        """Tell whether this is a project of cargo."""
        return bool(self._files.has("Cargo.toml"))

    def find(self) -> Iterator[Tool]:
        """Yield the tools."""
        yield self._tool(Check.TYPE_CHECK, "check", "--all-targets")
        if on_path("cargo-clippy", self._environment):
            yield self._tool(Check.LINT, "clippy", "--all-targets", "--", "-D", "warnings")
        yield self._tool(Check.TESTS, "test")
        yield self._tool(Check.BUILD, "build")
        yield self._tool(Check.DOCUMENTATION, "doc", "--no-deps")

    def clean(self) -> Tool:
        """Return what removes what the build made."""
        return self._tool(Check.BUILD, "clean")

    def _tool(self, check: Check, verb: str, *options: str) -> Tool:
        return Tool(check, "cargo", ("cargo", verb, "--color", "never", *options), "there is Cargo.toml")


class GoTools:
    """Detects the tools of a Go module."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        del environment
        self._files = files

    def applies(self) -> bool:
        """Tell whether this is a Go module."""
        return bool(self._files.has("go.mod"))

    def find(self) -> Iterator[Tool]:
        """Yield the tools."""
        reason = "there is go.mod"
        yield Tool(Check.TYPE_CHECK, "go", ("go", "vet", "./..."), reason)
        if name := self._files.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"):
            yield Tool(Check.LINT, "golangci-lint", ("golangci-lint", "run"), f"there is {name}")
        yield Tool(Check.TESTS, "go", ("go", "test", "./..."), reason)
        # of a single program `go build` would leave the binary in the project
        yield Tool(Check.BUILD, "go", ("go", "build", "-o", "/dev/null", "./..."), reason)


class CMakeTools:
    """Detects the tools of a CMake project, where it has been configured: only then is there a build."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        del environment
        self._files = files
        self._folder = next((name for name in _BUILDS if files.has(f"{name}/CMakeCache.txt")), "")

    def applies(self) -> bool:
        """Tell whether this is a configured project of CMake."""
        return bool(self._files.has("CMakeLists.txt") and self._folder)

    def find(self) -> Iterator[Tool]:
        """Yield the tools."""
        if self._files.has(f"{self._folder}/CTestTestfile.cmake"):
            argv = ("ctest", "--test-dir", self._folder, "--output-on-failure", "--no-tests=error")
            yield Tool(Check.TESTS, "ctest", argv, f"there is {self._folder}/CTestTestfile.cmake")
        reason = f"there is CMakeLists.txt and {self._folder}/CMakeCache.txt"
        yield Tool(Check.BUILD, "cmake", ("cmake", "--build", self._folder), reason)

    def clean(self) -> Tool:
        """Return what removes what the build made."""
        argv = ("cmake", "--build", self._folder, "--target", "clean")
        return Tool(Check.BUILD, "cmake", argv, f"there is {self._folder}/CMakeCache.txt")


class MakeTools:
    """Detects the targets of a Makefile, for what nothing else in the project does."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        del environment
        self._files = files
        self._name = files.has(*_MAKEFILES)

    def applies(self) -> bool:
        """Tell whether there is a Makefile."""
        return bool(self._name)

    def find(self) -> Iterator[Tool]:
        """Yield the tools."""
        for check, names in _TARGETS.items():
            if tool := self._tool(check, names):
                yield tool

    def clean(self) -> Tool | None:
        """Return what removes what the build made."""
        return self._tool(Check.BUILD, ("clean",))

    def _tool(self, check: Check, names: tuple[str, ...]) -> Tool | None:
        text = self._files.text(self._name)
        targets = set(re.findall(r"^([A-Za-z0-9_.-]{1,60})[ \t]{0,20}:(?![=:]?=)", text, re.MULTILINE))
        target = next((name for name in names if name in targets), "")
        reason = f"{self._name} has the target {target!r}"
        return Tool(check, "make", ("make", target), reason, recipe=text) if target else None
