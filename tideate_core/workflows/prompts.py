"""Prompts are files that a person can read and override.

A prompt file is a Jinja template in Markdown: the instructions, a line `---`, then what is asked. It is
looked for in the project (`.tideate/prompts/`), then in the person's configuration, then here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tideate_core.adapters import Prompt
from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BUILTIN_PROMPTS", "PromptLibrary"]

BUILTIN_PROMPTS = Path(__file__).parent / "builtin" / "prompts"


class PromptLibrary:
    """Renders prompts by name.

    :param overrides: directories looked into before the built-in one, first wins.
    """

    def __init__(self, overrides: Sequence[Path] = ()) -> None:
        self._directories = [*overrides, BUILTIN_PROMPTS]

    def find(self, name: str) -> Path:
        """Return the file that a prompt of this name comes from.

        :raises ConfigError: there is none.
        """
        for directory in self._directories:
            path = directory / f"{name}.md"
            if path.is_file():
                return path
        raise ConfigError(f"no prompt {name!r} in {', '.join(str(d) for d in self._directories)}")

    def render(self, name: str, **values: Any) -> Prompt:
        """Fill in a prompt.

        :raises ConfigError: the file cannot be read or rendered; file and line are named.
        """
        from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
        from jinja2.sandbox import SandboxedEnvironment

        path = self.find(name)
        environment = SandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False
        )
        try:
            source = path.read_text(encoding="utf-8")
            system, found, user = source.partition("\n---\n")
            if not found:
                raise ConfigError(f"{path}: no line `---` between the instructions and what is asked")
            above = "\n" * (system.count("\n") + 2)  # so that an error's line is the file's
            return Prompt(
                system=environment.from_string(system).render(values).strip(),
                user=environment.from_string(above + user).render(values).strip("\n"),
            )
        except TemplateSyntaxError as error:
            raise ConfigError(f"{path}:{error.lineno}: {error.message}") from error
        except (TemplateError, TypeError, ValueError, OSError) as error:
            raise ConfigError(f"{path}: {error}") from error
