"""Files of which other tools run only a part: which part it is, and whether a change touches it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["PARTS", "RunPart"]

_MOST_PARSED: Final = 1 << 20
"""Characters; a longer text counts as changed."""


@dataclass(frozen=True, slots=True)
class RunPart:
    """What is run of a file: values of keys, each a path of names."""

    reason: str
    parse: Callable[[str], Any]
    keys: tuple[tuple[str, ...], ...]

    def changed(self, before: str | None, after: str) -> bool:
        """Tell whether what is run becomes another; a text that cannot be read counts as changed."""
        if max(len(before or ""), len(after)) > _MOST_PARSED:
            return before != after
        try:
            old = {} if not (before or "").strip() else self.parse(before or "")
            new = self.parse(after) if after.strip() else {}
        except (ValueError, RecursionError):
            return before != after
        return any(_at(new, key) not in (None, _at(old, key)) for key in self.keys)


def _at(value: Any, key: tuple[str, ...]) -> Any:
    for name in key:
        value = value.get(name) if isinstance(value, dict) else None
    return value


_HOOKS: Final = (
    *(("scripts",), ("husky",), ("lint-staged",), ("simple-git-hooks",), ("gitHooks",), ("pre-commit",)),
    *(("packageManager",), ("gypfile",), ("workspaces",), ("eslintConfig",), ("babel",), ("jest",)),
    *(("prettier",), ("stylelint",), ("postcss",), ("ava",), ("mocha",)),
)
_PYTHON: Final = (
    *(("build-system",), ("project", "entry-points"), ("tool", "pytest"), ("tool", "hatch")),
    *(("tool", "setuptools"), ("tool", "pdm"), ("tool", "poetry", "build"), ("tool", "tox"), ("tool", "poe")),
    *(("tool", "poetry", "plugins"), ("tool", "scikit-build"), ("tool", "mypy"), ("tool", "pylint")),
    *(("tool", "maturin"), ("tool", "meson-python"), ("tool", "taskipy"), ("tool", "uv"), ("tool", "pixi")),
)

PARTS: Final[Mapping[str, RunPart]] = {
    "package.json": RunPart("npm runs its scripts and hooks, some at every install", json.loads, _HOOKS),
    "composer.json": RunPart(
        "composer runs its scripts and plugins at every install", json.loads, (("scripts",), ("config",))
    ),
    "deno.json": RunPart("deno runs its tasks", json.loads, (("tasks",), ("lint",))),
    "tsconfig.json": RunPart(
        "the language server runs the plugins that it names", json.loads, (("compilerOptions", "plugins"),)
    ),
    "pyproject.toml": RunPart(
        "pip, pytest and other tools run what it names as build, plugin or task", tomllib.loads, _PYTHON
    ),
    "cargo.toml": RunPart(
        "cargo runs the build script and macros that it names, by a language server also",
        tomllib.loads,
        (("package", "build"), ("lib", "proc-macro"), ("lib", "proc_macro"), ("build-dependencies",)),
    ),
}
"""By a file's plain name."""
