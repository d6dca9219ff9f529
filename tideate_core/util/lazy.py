"""Lazy exports of packages: a module is imported at the first use of one of its names."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` (PEP 562) and `__all__`.

    The names are those that its source imports for type checkers, as ``from MODULE import NAME as NAME``. No
    name may equal the name of one of the package's modules.
    """
    homes = _exported(Path(sys.modules[package].__file__ or ""))

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # for the next access
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names, sorted(homes)


def _exported(source: Path) -> dict[str, str]:
    """Return the module of each explicit re-export in a package's source."""
    statements = re.findall(r"^ +from (\S+) import (\([^)]*|.*)", source.read_text("utf-8"), re.MULTILINE)
    return {name: module for module, names in statements for name in re.findall(r"(\w+) as \1\b", names)}
