"""Providers that pydantic-ai supports, their key variables and models, read from its source.

Importing the library takes half a second, and providers' own libraries may be missing, so the source is
parsed instead. A test compares the result with the library.
"""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GATEWAY: Final = "gateway/"
"""Prefix of a provider that is reached through pydantic-ai's gateway."""
NOT_FOR_TEXT: Final = frozenset(
    {"elevenlabs", "google-decisions", "openai-decisions", "sentence-transformers", "voyageai"}
)
"""Providers of speech, decisions and embeddings, which answer no prompts."""
VARIABLE: Final = re.compile(r"os\.(?:getenv\('(\w+)'|environ\['(\w+)'\])|'(\w+)' not in os\.environ")
KEY: Final = re.compile(r"_(KEY|TOKEN)(_|$)")
OTHER_SERVICE: Final = re.compile(r"VOICELIVE|REALTIME")
"""Marks variables that hold keys for other services than prompts."""
MODEL: Final = re.compile(r"'([\w/-]+):([^'\s]+)'")


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """Provider name before the colon of `PROVIDER:MODEL`."""

    name: str
    module: str
    """Module of the library."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Variables that may hold the key, in order of precedence; empty for other credentials."""
        return _keys_of(self.module)

    def key_variable(self) -> str:
        """Return the variable that currently holds a key; empty without one."""
        return next((name for name in self.keys if os.environ.get(name, "").strip()), "")


@cache
def known_providers() -> Mapping[str, KnownProvider]:
    """Return the providers that answer prompts, by name; empty without the library."""
    try:
        tree = ast.parse(_source("providers/__init__.py"))
    except (OSError, SyntaxError):
        return {}
    return {name: KnownProvider(name, module) for name, module in sorted(_cases(tree))}


def provider_named(name: str) -> KnownProvider | None:
    """Return a provider, or the gateway to one."""
    known = known_providers()
    if not name.startswith(GATEWAY):
        return known.get(name)
    # the library validates the gateway's own model kinds
    return KnownProvider(name, "gateway")


@cache
def known_models() -> Mapping[str, tuple[str, ...]]:
    """Return the models named by the library, by provider."""
    models: dict[str, list[str]] = {}
    try:
        text = _source("models/_known_model_names.py")
    except OSError:
        return {}
    for provider, model in MODEL.findall(text):
        models.setdefault(provider, []).append(model)
    return {provider: tuple(names) for provider, names in models.items()}


def _source(name: str) -> str:
    spec = find_spec("pydantic_ai")
    if spec is None or spec.origin is None:
        raise FileNotFoundError(name)
    return (Path(spec.origin).parent / name).read_text(encoding="utf-8")


def _cases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield name and module of each provider, from the library's `match` on names."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.match_case):
            continue
        module = next((line.module for line in node.body if isinstance(line, ast.ImportFrom)), None)
        for name in ast.walk(node.pattern):
            if module and isinstance(name, ast.Constant) and name.value not in NOT_FOR_TEXT:
                yield str(name.value), module


@cache
def _keys_of(module: str) -> tuple[str, ...]:
    try:
        text = _source(f"providers/{module}.py")
    except OSError:
        return ()
    names = (next(filter(None, groups)) for groups in VARIABLE.findall(text))
    keys = (name for name in names if KEY.search(name) and not OTHER_SERVICE.search(name))
    return tuple(dict.fromkeys(keys))
