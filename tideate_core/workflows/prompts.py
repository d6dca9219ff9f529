"""Library of prompts: Markdown templates that a person or a project can override.

A prompt file is a Jinja template in Markdown: instructions, a line `---`, then the request. The project's
file (`.tideate/prompts/`, if its content is trusted) wins over the person's, which wins over the built-in
one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tideate_core.adapters import Prompt
from tideate_core.errors import ConfigError, UnusableFile
from tideate_core.project import Trust, read_document
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BUILTIN_PROMPTS = Path(__file__).parent / "builtin" / "prompts"
LARGEST_FILE = 64 * 1024
"""Bytes of a prompt file."""


class PromptLibrary:
    """Renders prompts by name.

    :param overrides: directories searched before the built-in one; the first match wins.
    :param project: the root of a project, whose trusted prompts win over all others.
    """

    def __init__(self, overrides: Sequence[Path] = (), *, project: Path | None = None) -> None:
        self._directories = [*overrides, BUILTIN_PROMPTS]
        self._project = project

    def render(self, name: str, /, *, notice: Callable[[str], None] | None = None, **values: Any) -> Prompt:
        """Render a prompt.

        :param notice: called with the reason if a project's file is ignored.
        :raises ConfigError: the file cannot be read or rendered; names file and line.
        """
        path, source = self._trusted(name, notice) or self._find(name)
        return _render(path, source, values)

    def _trusted(self, name: str, notice: Callable[[str], None] | None) -> tuple[Path, str] | None:
        if self._project is None:
            return None
        document = f".tideate/prompts/{name}.md"
        path = self._project / document
        try:
            content = read_document(self._project, document, LARGEST_FILE)
        except FileNotFoundError:
            return None
        except UnusableFile as error:
            words = str(error)
        else:
            # use exactly the content that was checked: nothing is read twice
            if Trust(self._project).is_trusted(document, content):
                return path, _decode(path, content)
            words = (
                f"{path} was not used: its content is not trusted; run `tideate trust` or `:Workflow trust`"
            )
        if notice:
            notice(words)
        return None

    def _find(self, name: str) -> tuple[Path, str]:
        for directory in self._directories:
            path = directory / f"{name}.md"
            if path.is_file():
                return path, _decode(path, _read(path))
        raise ConfigError(f"no prompt {name!r} in {', '.join(str(d) for d in self._directories)}")


def _read(path: Path) -> bytes:
    try:
        content = read_regular(path, LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise ConfigError(f"{path} is larger than {LARGEST_FILE // 1024} KiB; that is not a prompt")
    return content


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}") from error


def _render(path: Path, source: str, values: dict[str, Any]) -> Prompt:
    from jinja2 import TemplateSyntaxError

    from tideate_core.workflows.templates import RENDER_ERRORS, render_template

    system, found, user = source.partition("\n---\n")
    if not found:
        raise ConfigError(f"{path}: no line `---` between the instructions and the request")
    above = "\n" * (system.count("\n") + 2)  # so that errors have the file's line numbers
    try:
        return Prompt(
            system=render_template(system, values).strip(),
            user=render_template(above + user, values).strip("\n"),
        )
    except TemplateSyntaxError as error:
        raise ConfigError(f"{path}:{error.lineno}: {error.message}") from error
    except RENDER_ERRORS as error:
        raise ConfigError(f"{path}: {error or type(error).__name__}") from error
