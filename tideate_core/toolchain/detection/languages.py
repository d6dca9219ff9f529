"""Tools of JavaScript, Rust, Go and CMake projects, and of Makefiles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tideate_core.process import find_on_path
from tideate_core.toolchain.detection.tools import Check, ProjectTools, Tool, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.toolchain.detection.tools import ProjectFiles

__all__ = ["CMakeTools", "CargoTools", "GoTools", "MakeTools", "NodeTools"]

_MANAGERS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
"""By the file that only this one writes."""

_SCRIPTS: Final[Mapping[Check, tuple[str, ...]]] = {
    Check.TYPE_CHECK: ("typecheck", "type-check", "type_check", "check-types", "check:types", "types", "tsc"),
    Check.LINT: ("lint", "lint:check", "eslint"),
    Check.TESTS: ("test", "tests", "test:unit"),
    Check.BUILD: ("build", "compile"),
    Check.DOCUMENTATION: ("docs", "doc", "docs:build", "build:docs", "typedoc"),
}

_NO_TEST: Final = "no test specified"
"""In the script that `npm init` writes."""

_ESLINT: Final = tuple(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts")) + tuple(
    f".eslintrc{end}" for end in ("", ".js", ".cjs", ".json", ".yml", ".yaml")
)


class NodeTools(ProjectTools):
    """Tools of a project with package.json: its scripts, else the programs in node_modules."""

    def applies(self) -> bool:
        return bool(self._files.has("package.json"))

    def find(self) -> Iterator[Tool]:
        for check, names in _SCRIPTS.items():
            for name in names:
                if name in self._files.scripts and _NO_TEST not in self._files.scripts[name]:
                    yield self._script(check, name)
        yield from self._programs()

    def clean(self) -> Tool | None:
        return self._script(Check.BUILD, "clean") if "clean" in self._files.scripts else None

    def _script(self, check: Check, name: str) -> Tool:
        manager = self._manager()
        # what runs before and after a script is run with it
        parts = [self._files.scripts.get(part) for part in (f"pre{name}", name, f"post{name}")]
        recipe = "\n".join(part for part in parts if part)
        return Tool(check, manager, (manager, "run", name), f"package.json has the script {name!r}", recipe)

    def _manager(self) -> str:
        named = str(self._files.package.get("packageManager", "")).partition("@")[0]
        if named in _MANAGERS.values():
            return named
        return next((manager for lock, manager in _MANAGERS.items() if self._files.has(lock)), "npm")

    def _programs(self) -> Iterator[Tool]:
        if self._files.has("tsconfig.json") and (tsc := self._own("tsc")):
            options = ("--noEmit", "--pretty", "false")
            yield Tool(Check.TYPE_CHECK, "tsc", (tsc, *options), "there is tsconfig.json; from node_modules")
        config = self._files.has(*_ESLINT) or ("eslintConfig" in self._files.package and "package.json")
        if config and (eslint := self._own("eslint")):
            yield Tool(Check.LINT, "eslint", (eslint, "."), f"{config} configures it; from node_modules")
        for runner, option in (("vitest", "run"), ("jest", "--ci")):
            if runner in self._needs() and (program := self._own(runner)):
                reason = f"package.json names {runner}; from node_modules"
                yield Tool(Check.TESTS, runner, (program, option), reason)

    def _own(self, name: str) -> str:
        path = f"node_modules/.bin/{name}"
        return path if self._files.runnable(path) else ""

    def _needs(self) -> set[str]:
        kinds = ("dependencies", "devDependencies")
        return {name for kind in kinds for name in table(self._files.package, kind)}


_TARGETS: Final[Mapping[Check, tuple[str, ...]]] = {
    Check.TYPE_CHECK: ("typecheck", "type-check", "type_check", "types", "mypy"),
    Check.LINT: ("lint", "check-lint"),
    Check.TESTS: ("test", "tests", "check"),
    Check.BUILD: ("build", "all"),
    Check.DOCUMENTATION: ("docs", "doc", "html"),
}

_BUILDS: Final = ("build", "_build", "out", "cmake-build-debug", "cmake-build-release")
"""Build directories of CMake, by habit."""

_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make looks for them."""


class CargoTools(ProjectTools):
    """Tools of a Rust project."""

    def applies(self) -> bool:
        return bool(self._files.has("Cargo.toml"))

    def find(self) -> Iterator[Tool]:
        yield self._tool(Check.TYPE_CHECK, "check", "--all-targets")
        if find_on_path("cargo-clippy", self._environment):
            yield self._tool(Check.LINT, "clippy", "--all-targets", "--", "-D", "warnings")
        yield self._tool(Check.TESTS, "test")
        yield self._tool(Check.BUILD, "build")
        yield self._tool(Check.DOCUMENTATION, "doc", "--no-deps")

    def clean(self) -> Tool:
        return self._tool(Check.BUILD, "clean")

    def _tool(self, check: Check, verb: str, *options: str) -> Tool:
        return Tool(check, "cargo", ("cargo", verb, "--color", "never", *options), "there is Cargo.toml")


class GoTools(ProjectTools):
    """Tools of a Go module."""

    def applies(self) -> bool:
        return bool(self._files.has("go.mod"))

    def find(self) -> Iterator[Tool]:
        reason = "there is go.mod"
        yield Tool(Check.TYPE_CHECK, "go", ("go", "vet", "./..."), reason)
        if name := self._files.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"):
            yield Tool(Check.LINT, "golangci-lint", ("golangci-lint", "run"), f"there is {name}")
        yield Tool(Check.TESTS, "go", ("go", "test", "./..."), reason)
        # of a single program `go build` would leave the binary in the project
        yield Tool(Check.BUILD, "go", ("go", "build", "-o", "/dev/null", "./..."), reason)


class CMakeTools(ProjectTools):
    """Tools of a CMake project that has been configured: only then is there a build."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        super().__init__(files, environment)
        self._folder = next((name for name in _BUILDS if files.has(f"{name}/CMakeCache.txt")), "")

    def applies(self) -> bool:
        return bool(self._files.has("CMakeLists.txt") and self._folder)

    def find(self) -> Iterator[Tool]:
        if self._files.has(f"{self._folder}/CTestTestfile.cmake"):
            argv = ("ctest", "--test-dir", self._folder, "--output-on-failure", "--no-tests=error")
            yield Tool(Check.TESTS, "ctest", argv, f"there is {self._folder}/CTestTestfile.cmake")
        reason = f"there is CMakeLists.txt and {self._folder}/CMakeCache.txt"
        yield Tool(Check.BUILD, "cmake", ("cmake", "--build", self._folder), reason)

    def clean(self) -> Tool:
        argv = ("cmake", "--build", self._folder, "--target", "clean")
        return Tool(Check.BUILD, "cmake", argv, f"there is {self._folder}/CMakeCache.txt")


class MakeTools(ProjectTools):
    """Targets of a Makefile, for the checks that nothing else in the project runs."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        super().__init__(files, environment)
        self._name = files.has(*_MAKEFILES)

    def applies(self) -> bool:
        return bool(self._name)

    def find(self) -> Iterator[Tool]:
        for check, names in _TARGETS.items():
            if tool := self._tool(check, names):
                yield tool

    def clean(self) -> Tool | None:
        return self._tool(Check.BUILD, ("clean",))

    def _tool(self, check: Check, names: tuple[str, ...]) -> Tool | None:
        text = self._files.text(self._name)
        targets = set(re.findall(r"^([A-Za-z0-9_.-]{1,60})[ \t]{0,20}:(?![=:]?=)", text, re.MULTILINE))
        target = next((name for name in names if name in targets), "")
        reason = f"{self._name} has the target {target!r}"
        return Tool(check, "make", ("make", target), reason, recipe=text) if target else None
