"""Lazy exports of packages: a module is imported at the first use of one of its names."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def exports(
    package: str, modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` (PEP 562) and `__all__`.

    :param modules: module of the package → names it exports, separated by blanks; None reads the imports
        ``from MODULE import NAME as NAME`` of the package's own source. A name must not equal the name of a
        module.
    """
    if modules is None:
        homes = _imported(Path(sys.modules[package].__file__ or ""))
    else:
        homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # for the next access
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names, sorted(homes)


def _imported(source: Path) -> dict[str, str]:
    """Return name → module of the explicit re-exports in a module's source."""
    statements = re.findall(r"^ +from (\S+) import (\([^)]*|.*)", source.read_text("utf-8"), re.MULTILINE)
    return {name: module for module, names in statements for name in re.findall(r"(\w+) as \1\b", names)}
