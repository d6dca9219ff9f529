"""Mentions in prompts: `@Name` of `.tideate/context.json`, `@file:PATH`, `@buffer`, `@diff` and others.

Resolving them is deterministic: the content is what stands at the place, and no model is asked. The names are
in `.tideate/context.json`, which belongs to the team::

    {
      "version": "1.0.0",
      "mappings": {
        "@Guide": "doc/guide.md",
        "@Errors": "doc/api.md#Errors",
        "@Voice": {"text": "Write short sentences."}
      }
    }

A text is a `file` (a path), a `section` (a heading of a Markdown file, by its words or by its anchor on
GitHub) or a `variable` (a text that stands in `context.json` itself; nothing of the environment is read).
"""

from __future__ import annotations

from tideate_core.errors import ContextResolutionError
from tideate_core.workspace.contexts.items import ContextItem, ContextKind, Diagnostic, Surroundings
from tideate_core.workspace.contexts.resolver import ContextResolver, Described

__all__ = [
    "ContextItem",
    "ContextKind",
    "ContextResolutionError",
    "ContextResolver",
    "Described",
    "Diagnostic",
    "Surroundings",
]
