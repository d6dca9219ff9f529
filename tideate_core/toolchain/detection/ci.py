"""Check commands in a project's CI configuration, read as data: offered for trust, never run unasked."""

from __future__ import annotations

import posixpath
import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tideate_core.toolchain.detection.tables import TASKS
from tideate_core.toolchain.detection.tools import Check, Tool, never_ends, tool_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.toolchain.detection.tools import ProjectFiles

_FILES: Final = (".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml")
_MOST_FILES: Final = 30
_LARGEST: Final = 60_000
"""Maximum characters of a file."""
_MOST_TOOLS: Final = 6
"""Maximum tools of one check in one folder."""

_TASK: Final = (
    r"(?:make|just|task|invoke|rake|nox -s|tox(?: run)? -e|npm run|npm|pnpm(?: run)?|yarn(?: run)?|bun run|"
    r"deno task|composer(?: run-script)?) "
)
_CHECKS: Final[Mapping[Check, tuple[str, ...]]] = {
    Check.DOCUMENTATION: (
        r"mkdocs build|sphinx-build|mdbook build|cargo doc|typedoc|mix docs|yard|doxygen",
        rf"{_TASK}(?:docs?|html)(?:[:-]build)?",
    ),
    Check.TYPE_CHECK: (
        r"mypy|pyright|basedpyright|pyre|ty check|tsc|vue-tsc|cargo check|go vet|staticcheck|mix dialyzer",
        r"phpstan|psalm|srb tc|steep check|deno check|lua-language-server --check",
        rf"{_TASK}(?:types?|mypy|pyright|typing|type[-_]?check|check-types|tsc)",
    ),
    Check.LINT: (
        r"ruff check|ruff format --check|flake8|pylint|black --check|isort --check\S*|eslint|oxlint|phpcs",
        r"biome (?:ci|check|lint)|prettier --check|cargo clippy|cargo fmt .*--check|golangci-lint run",
        r"rubocop|standardrb|mix format --check\S*|mix credo|luacheck|selene|stylua --check|yamllint",
        r"php-cs-fixer .*--dry-run|deno lint|deno fmt --check|codespell|shellcheck|zig fmt --check",
        rf"{_TASK}(?:lint\S*|style|format[-:]check|check[-:]format|fmt[-:]check)",
    ),
    Check.BUILD: (
        r"cargo build|go build|cmake --build|(?<=-m )build|mvn .*package|gradlew? .*(?:assemble|build)",
        r"mix compile|swift build|zig build|dotnet build|sbt compile|meson compile|stack build|cabal build",
        r"dune build",
        rf"{_TASK}(?:build|compile)",
    ),
    Check.TESTS: (
        r"pytest|unittest|(?:tox(?: run)?|nox|rake)(?: -[pqv]+)*$|cargo test|cargo nextest run|go test|ctest",
        r"jest|vitest|mocha|ava|rspec",
        r"python3? \S*(?:manage\.py test|runtests\.py)|rails test|mix test|busted|phpunit|pest",
        r"deno test|swift test|zig build test|dotnet test|sbt test|stack test|cabal test|meson test|prove",
        r"dune (?:test|runtest)|mvn .*(?:test|verify)|gradlew? .*(?:test|check)|node --test|bun test",
        r"npm t|nvim --headless",
        rf"{_TASK}(?:tests?\S*|unit\S*|spec|check|py\d*)",
    ),
}
"""Patterns of commands by check, in order of preference; other commands are ignored."""
_BEFORE: Final = (
    r"(?:(?:uv|poetry|pdm|hatch|pipenv|rye) run (?:--\S+ )*|bundle exec |npx (?:--no-install )?|bunx |"
    r"(?:pnpm|yarn) exec |python3? -m |\./|vendor/bin/|bin/|xvfb-run (?:-a )?)?"
)
_KNOWN: Final = tuple(
    (check, re.compile(rf"{_BEFORE}(?:{'|'.join(forms)})(?![\w.-])")) for check, forms in _CHECKS.items()
)
_SHELL: Final = re.compile(r"[|&;<>$`(){}\\*?~#!\n]|(?<!\S)\w+=")
"""Shell characters and variable assignments: a line with one is not a plain command."""
_REFUSED: Final = re.compile(
    r"\b(?:publish\w*|deploy\w*|(?:un)?install|upload\w*|release\w*|login|push|secrets?|token\w*|password\w*|"
    r"sudo|fix(?:es)?|updat\w*|accept|clean|watch|serve|drop|docker|curl|"
    r"wget|ssh|scp|aws|gcloud|kubectl|terraform|twine|npm ci)\b|"
    r"--(?:write|no-run|collect-only|list|help|version)\b|(?<!\S)-u(?!\S)|https?://",
    re.IGNORECASE,
)
"""Commands that change remote systems, download something, or use secrets."""
_RECIPES: Final[Mapping[str, tuple[str, ...]]] = {
    **{tasks.command.removeprefix("{bundle} ").split(" ")[0]: tasks.files for tasks in TASKS},
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
}
"""Files that define a command; trusting the command includes their text."""


_UNKNOWN: Final = re.compile(
    r"\s*(?:cd|pushd|if|for|while|case|until|exit|return)\b|.*(?:<<|set \+e)|.*\{\s*$"
)
"""Lines that make the folder, or the execution, of later lines uncertain."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A script line in a CI file."""

    text: str
    folder: str
    place: str
    """File and line."""


def ci_tools(top: ProjectFiles) -> dict[str, list[Tool]]:
    """Return the plain check commands in the CI configuration, by folder; blocking.

    Lines with shell syntax or secrets, and jobs that publish, are ignored.
    """
    found: dict[str, list[Tool]] = {}
    for pattern in _FILES:
        for path in islice(sorted(top.root.glob(pattern)), _MOST_FILES):
            name = path.relative_to(top.root).as_posix()
            for line in _lines(name, top.text(name)):
                tool = _tool(top, line)
                if tool is not None:
                    known = found.setdefault(line.folder, [])
                    same = [one for one in known if one.check == tool.check]
                    if len(same) < _MOST_TOOLS and all(one.argv != tool.argv for one in known):
                        known.append(tool)
    return found


def _tool(top: ProjectFiles, line: _Line) -> Tool | None:
    text = line.text.strip()
    if _SHELL.search(text) or _REFUSED.search(text) or never_ends(text) or len(text) > 300:
        return None
    check = next((check for check, form in _KNOWN if form.match(text)), None)
    if check is None or not (top.root / line.folder).is_dir():
        return None
    try:
        argv = tuple(shlex.split(text))
    except ValueError:
        return None
    if ".." in argv[0].split("/") or argv[0].startswith("/"):
        return None
    return Tool(
        check,
        tool_name(argv),
        argv,
        f"{line.place} runs it",
        _recipe(top, line.folder, argv),
        folder=line.folder,
        beside=True,
    )


def _recipe(top: ProjectFiles, folder: str, argv: tuple[str, ...]) -> str:
    below = f"{folder}/" if folder else ""
    words = [
        word for word in argv if word in _RECIPES or "/" in word or word.endswith((".py", ".sh", ".lua"))
    ]
    names = [name for word in words for name in _RECIPES.get(word, (word,))]
    return "\n".join(
        filter(None, (top.text(below + name) for name in names if not name.startswith(("/", ".."))))
    )


@lru_cache(maxsize=64)
def _lines(name: str, text: str) -> tuple[_Line, ...]:
    """Return the script lines of a CI file; each text is parsed once."""
    if not text or len(text) > _LARGEST:
        return ()
    # imported on use: most projects do not need it
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        # nodes, not values: aliases are not expanded, so nothing multiplies
        root = YAML(typ="safe", pure=True).compose(text)
    except (YAMLError, RecursionError, ValueError):
        return ()
    return tuple(_scripts(name, root))


def _scripts(name: str, root: Any) -> Iterator[_Line]:
    jobs = _of(root, "jobs") if name.startswith(".github/") else root
    for job, body in _pairs(jobs):
        if _REFUSED.search(job):
            continue
        place = _folder(body, root)
        for step in _items(_of(body, "steps")):
            if "secrets." not in _plain(_of(step, "env")) and _counts(step):
                yield from _script(name, _of(step, "run"), _text(_of(step, "working-directory")) or place)
        if jobs is root:
            scripts = _of(body, "script")
            for script in [*_items(scripts), *([scripts] if _is(scripts, "scalar") else [])]:
                yield from _script(name, script, "")


def _counts(step: Any) -> bool:
    """Return whether a step is run by a shell and fails its job if it fails."""
    return (
        _text(_of(step, "continue-on-error")) in ("", "false")
        and _text(_of(step, "if")) != "false"
        and _text(_of(step, "shell")).partition(" ")[0] in ("", "bash", "sh")
    )


def _script(name: str, node: Any, folder: str) -> Iterator[_Line]:
    folder = posixpath.normpath(folder or ".").removeprefix(".").lstrip("/")
    if not _is(node, "scalar") or "$" in folder or folder.startswith("."):
        return
    lines = str(node.value).split("\n")
    # a block starts on the line after its indicator
    first = node.start_mark.line + (2 if node.style in ("|", ">") else 1)
    if any(_UNKNOWN.match(line) for line in lines):
        return  # later lines may run in another folder, or not at all
    for number, line in enumerate(lines):
        # the end of the previous line may continue on this one
        if number == 0 or not lines[number - 1].rstrip().endswith(("\\", "|", "&&")):
            yield _Line(line, folder, f"{name}:{first + number}")


def _folder(job: Any, root: Any) -> str:
    """Return the folder of a job's commands."""
    found = (_text(_of(_of(_of(one, "defaults"), "run"), "working-directory")) for one in (job, root))
    return next(filter(None, found), "")


def _is(node: Any, kind: str) -> bool:
    return getattr(node, "id", "") == kind


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    if _is(node, "mapping"):
        yield from ((_text(key), value) for key, value in node.value)


def _items(node: Any) -> list[Any]:
    return list(node.value) if _is(node, "sequence") else []


def _of(node: Any, key: str) -> Any:
    return next((value for name, value in _pairs(node) if name == key), None)


def _text(node: Any) -> str:
    return str(node.value) if _is(node, "scalar") else ""


def _plain(node: Any) -> str:
    return " ".join(_text(value) for _, value in _pairs(node))
