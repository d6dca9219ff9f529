"""Check kinds, `Tool`, and the detectors' base class; tolerant reading of a folder's project files."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tideate_core.project import project_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_LARGEST: Final = 1 << 20
"""Maximum bytes of a project file."""

_RUNNERS: Final = {"uv": 1, "poetry": 1, "pdm": 1, "hatch": 1, "pipenv": 1, "bundle": 1, "npx": 0, "bunx": 0}
"""Programs that run another program, with the number of their own words (`run`) before its name."""

_SERVERS: Final = re.compile(
    r"""(?<![\w./-])(?:
    (?:vitepress|vuepress|next|nuxt|nuxi|astro|vite|storybook|mint|mintlify|remix|docusaurus|docsify|honkit
      |gitbook|mkdocs|hugo|jekyll|zensical|webpack|rspack|rsbuild|ng|expo|gatsby|wrangler|vercel|netlify|mdbook
      |react-scripts|vue-cli-service|eleventy|bridgetown|middleman|quarto|fumadocs|slidev|rspress)
      [ \t]+(?:dev|serve|server|start|preview|develop|watch)(?![\w:-])
    |sphinx-autobuild|nodemon|http-server|live-server|browser-sync|webpack-dev-server|start-storybook|ts-node-dev
    |(?:vite|serve|next[ \t]+dev|vitepress)(?=[ \t]*(?:$|[;&|]|--(?!mode)|-[a-zA-Z]))
    |(?:tsx|vitest|turbo|nx|lerna|wireit|flask|rails|serverless|php)[ \t]+(?:run[ \t]+)?
      (?:watch|dev|start|serve|server|offline|-S)(?![\w:-])
    |karma[ \t]+start(?![^;&|\n]{0,200}--single-run)
    |while[ \t]+(?:true|:)[ \t]*(?:;|$)(?![\s\S]{0,400}\b(?:break|exit)\b)
    |flask[ \t]+run|cypress[ \t]+open|tail[ \t]+-f|docker[ \t-]compose[ \t]+up|http\.server
    |(?:concurrently|npm-run-all2?|run-[ps])\b[^;&|\n]{0,200}(?<![\w-])(?:dev|start|serve|watch[:*-]{0,2})
    )(?![\w-])
    |(?<!\S)--(?:watch|watchAll|serve|livereload|poll)(?:=(?:true|forever))?(?![\w=-]|[ \t]+false)
    |(?:^|[;&|])[@ \t]*(?:uvicorn|gunicorn|json-server|entr|watchexec|watchman-make|chokidar)[ \t]
    |(?:^|[;&|])[@ \t]*(?:npx[ \t]+)?parcel(?![\w-]|[ \t]+build\b)
    |(?:^|[;&|])[@ \t]*(?:next|nuxt)[ \t]*(?:$|[;&|])
    |\b(?:playwright|vitest)\b[^;&|\n]{0,200}(?<!\S)--ui(?![\w-])
    |\b(?:tsc|vitest|webpack|rollup|mocha|ava|babel|swc|postcss|sass)\b[^;&|\n]{0,200}(?<!\S)-w(?!\S)""",
    re.VERBOSE | re.MULTILINE,
)
"""Commands that run until they are ended."""


class Check(StrEnum):
    """Kinds of checks in the order of execution; tests that need a build run after it."""

    TYPE_CHECK = "type_check"
    LINT = "lint"
    TESTS = "tests"
    BUILD = "build"
    DOCUMENTATION = "documentation"


@dataclass(frozen=True, slots=True)
class Tool:
    """A command that runs a check."""

    check: Check
    name: str
    """Name of the program whose output is parsed, as in `parse_failures`: `mypy`, `npm`, `make`."""
    argv: tuple[str, ...]
    """A program with a slash is relative to the folder."""
    reason: str
    """Reason for this tool, for a person: ``pyproject.toml has [tool.mypy]; from .venv``."""
    recipe: str = ""
    """The project's own text that `argv` runs: a script of package.json, a Makefile."""
    template: tuple[str, ...] = ()
    """The configured command, if it has placeholders for tests; `argv` runs all tests."""
    names_paths: bool = False
    """The configured command itself names files of the project."""
    folder: str = ""
    """The working folder relative to the root; empty: the root."""
    needs: str = ""
    """A program that `argv` starts: the first word of a script in package.json."""
    beside: bool = False
    """It runs in addition to its check's other tools in this folder."""
    after_build: bool = False
    """It tests build output and does not build it."""
    own: bool = False
    """The person's own configuration names it."""

    @property
    def meaning(self) -> str:
        """The identity for trust: another text or another folder is another command."""
        words = [list(self.template or self.argv), self.recipe]
        return json.dumps([*words, self.folder] if self.folder else words, ensure_ascii=False)

    @property
    def words(self) -> str:
        """The command for a person: ``web: npm run test``."""
        command = shlex.join(self.argv)
        return f"{self.folder}: {command}" if self.folder else command


class ProjectFiles:
    """Files of one project folder, read tolerantly: broken files are reported by other checks.

    :param top: the project's root.
    :param folder: relative to the root; empty: the root.
    """

    def __init__(self, top: Path, folder: str = "") -> None:
        self.top = top
        self.folder = folder
        self.root = top / folder
        self._texts: dict[str, str] = {}

    @property
    def output(self) -> str:
        """A directory for build output.

        Outside the project: tools empty such a directory, and a cloned project could make it a link.
        """
        return str(project_state(self.top) / "scratch" / self.folder)

    def has(self, *names: str) -> str:
        """Return the first existing name or match of a pattern (``*.gemspec``), empty if there is none."""
        return next(filter(None, map(self._found, names)), "")

    def _found(self, name: str) -> str:
        if "*" not in name:
            return name if (self.root / name).exists() else ""
        return min((path.relative_to(self.root).as_posix() for path in self.root.glob(name)), default="")

    def text(self, name: str) -> str:
        """Return a file's text, empty if it cannot be read."""
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def _read(self, name: str) -> str:
        path = self.root / name
        try:
            # reading a named pipe would block
            if not path.is_file() or path.stat().st_size > _LARGEST:
                return ""
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    @cached_property
    def pyproject(self) -> dict[str, Any]:
        return read_toml(self.text("pyproject.toml"))

    @cached_property
    def package(self) -> dict[str, Any]:
        """The content of package.json."""
        try:
            found = json.loads(self.text("package.json") or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def scripts(self) -> dict[str, str]:
        """The scripts in package.json."""
        return {name: text for name, text in table(self.package, "scripts").items() if isinstance(text, str)}

    def sections(self, name: str) -> set[str]:
        """Return the section names of an INI file."""
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        try:
            parser.read_string(self.text(name))
        except configparser.Error:
            return set()
        return set(parser.sections())

    def tool(self, name: str) -> dict[str, Any] | None:
        """Return `[tool.NAME]` of pyproject.toml, None if it is missing."""
        found = table(self.pyproject, "tool").get(name)
        return found if isinstance(found, dict) else None

    def runnable(self, name: str) -> bool:
        """Return whether a path is an executable file."""
        path = self.root / name
        return path.is_file() and os.access(path, os.X_OK)


class ProjectTools:
    """Tools of one kind of project; base class of all kinds.

    :param environment: supplies PATH.
    """

    manifests: ClassVar[tuple[str, ...]] = ()
    """Files that make a folder a project of this kind."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        self._files = files
        self._environment = environment

    @property
    def kind(self) -> str:
        """Name of the kind."""
        return type(self).__name__

    def applies(self) -> bool:
        """Return whether the folder is a project of this kind."""
        return bool(self._files.has(*self.manifests))

    @property
    def alone(self) -> bool:
        """It never belongs to a project above it."""
        return False

    def covers(self, folder: str) -> bool:
        """Return whether a project of this kind in a folder below belongs to this one, as in a workspace."""
        return False

    def find(self) -> Iterator[Tool]:
        """Yield the tools, the preferred tool of each check first."""
        raise NotImplementedError

    def clean(self) -> Tool | None:
        """Return the command that removes build output."""
        return None


def never_ends(text: str) -> bool:
    """Return whether a script starts a server or watches files, so that a check would never end."""
    return _SERVERS.search(text[:_LARGEST]) is not None


def tool_name(argv: Sequence[str]) -> str:
    """Return the name of the program behind a command: `python -m mypy` is mypy."""
    words = list(argv)
    name = words[0].rpartition("/")[2]
    if name.startswith("python") and "-m" in words[1:-1]:
        return words[words.index("-m") + 1].partition(".")[0]
    if name in _RUNNERS:
        # skip the runner's options
        rest = words[1 + _RUNNERS[name] :]
        while rest and rest[0].startswith("-"):
            rest = rest[1:]
        return tool_name(rest) if rest else name
    return name


_PLACES: Final = re.compile(
    r"(?P<folder>-C|--(?:directory|prefix|cwd|dir)(?:=|$))|(?P<file>-f|--(?:file|makefile|justfile)(?:=|$))"
)


def split_folder(argv: Sequence[str]) -> tuple[str, str, list[str]]:
    """Split a task or script runner's command into its folder, its file, and the other words."""
    found, rest, words = {"folder": "", "file": ""}, list[str](), iter(argv[1:])
    for word in words:
        if match := _PLACES.match(word):
            found[str(match.lastgroup)] = word[match.end() :] or next(words, "")
        else:
            rest.append(word)
    return found["folder"], found["file"], rest


def read_toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML file, empty if it is invalid."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def table(values: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return a nested table, empty if it is missing."""
    for key in keys:
        found = values.get(key)
        if not isinstance(found, dict):
            return {}
        values = found
    return values
