"""Tools of a JavaScript or TypeScript project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.detection.files import table
from tideate_core.toolchain.detection.tools import Check, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.toolchain.detection.files import ProjectFiles

__all__ = ["NodeTools"]

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


class NodeTools:
    """Detects the tools of a project with package.json: its scripts, else what node_modules has."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        del environment
        self._files = files

    def applies(self) -> bool:
        """Tell whether this is a project of Node."""
        return bool(self._files.has("package.json"))

    def find(self) -> Iterator[Tool]:
        """Yield the tools, the better one of a check first."""
        for check, names in _SCRIPTS.items():
            for name in names:
                if name in self._files.scripts and _NO_TEST not in self._files.scripts[name]:
                    yield self._script(check, name)
        yield from self._programs()

    def clean(self) -> Tool | None:
        """Return what removes what the build made."""
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
