"""Detect check commands of project kinds and task runners declared as tables of files and patterns."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.detection.tools import Check, ProjectTools, Tool, never_ends, tool_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.toolchain.detection.tools import ProjectFiles

_T, _L, _B, _U, _D = Check.TYPE_CHECK, Check.LINT, Check.BUILD, Check.TESTS, Check.DOCUMENTATION

_LAUNCHERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "{mvn}": ("mvnw", "./mvnw -B", "mvn -B"),
    "{gradle}": ("gradlew", "./gradlew --console=plain", "gradle --console=plain"),
    "{bundle}": ("Gemfile", "bundle exec", ""),
}
"""By placeholder: a file, the command if it exists, the command if it does not."""


@dataclass(frozen=True, slots=True)
class Row:
    """One command of a kind of project."""

    check: Check
    command: str
    """Words; ``{file}`` is the matching file, ``{out}`` a directory outside the project."""
    files: str = ""
    """Names or patterns, at least one of which must exist; empty: the kind's manifest."""
    says: str = ""
    """A pattern that the file's text must match."""
    name: str = ""
    """Name of the program whose output is parsed; empty: derived from the command."""
    beside: bool = False
    """It runs in addition to the check's other tools."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of project."""

    manifests: tuple[str, ...]
    rows: tuple[Row, ...]
    covers: str = ""
    """A pattern: a manifest that matches lists the folders below that belong to it."""


KINDS: Final[tuple[Kind, ...]] = (
    Kind(
        ("pom.xml",),
        (
            Row(_T, "{mvn} -q test-compile"),
            Row(_L, "{mvn} checkstyle:check", says="maven-checkstyle-plugin"),
            Row(_L, "{mvn} spotless:check", says="spotless-maven-plugin"),
            Row(_B, "{mvn} -DskipTests package"),
            Row(_U, "{mvn} test"),
            Row(_D, "{mvn} -q javadoc:javadoc", says="maven-javadoc-plugin"),
        ),
        covers="<modules>",
    ),
    Kind(
        ("build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"),
        (
            Row(_T, "{gradle} testClasses", says=r"\b(?:java|kotlin|groovy|scala)\b"),
            Row(_L, "{gradle} spotlessCheck", says="spotless"),
            Row(_L, "{gradle} ktlintCheck", says="ktlint"),
            Row(_L, "{gradle} detekt", says="detekt"),
            Row(_L, "{gradle} checkstyleMain", says="checkstyle"),
            Row(_B, "{gradle} assemble"),
            Row(_U, "{gradle} test"),
            Row(_D, "{gradle} javadoc", says="withJavadocJar|javadoc"),
        ),
        covers=r"\binclude\b",
    ),
    Kind(
        ("Gemfile", "Rakefile", "*.gemspec", ".rspec"),
        (
            Row(_T, "{bundle} srb tc", "sorbet/config"),
            Row(_T, "{bundle} steep check", "Steepfile"),
            Row(_L, "{bundle} rubocop", ".rubocop.yml"),
            Row(_L, "{bundle} standardrb", ".standard.yml"),
            Row(_B, "gem build {file} --output {out}.gem", "*.gemspec"),
            Row(_U, "{bundle} rspec", ".rspec */spec_helper.rb"),
            Row(_U, "bin/rails test", "bin/rails"),
            Row(
                _U,
                "{bundle} rake test",
                "Rakefile",
                r"TestTask\.new|Minitest::TestTask|task[ (]+[:'\"]?test\b",
            ),
            Row(_U, "{bundle} rake spec", "Rakefile", r"RakeTask\.new|task[ (]+[:'\"]?spec\b"),
            Row(
                _U,
                "{bundle} ruby -Ilib -Itest -e "
                "'Dir[\"./test/**/{test_*,*_test}.rb\"].sort.each { |f| require f }'",
                "test/test_helper.rb test/test_*.rb test/*_test.rb",
                "minitest",
                "minitest",
            ),
            Row(_D, "{bundle} yard doc --no-cache --no-save --output-dir {out}/yard", ".yardopts"),
        ),
    ),
    Kind(
        ("mix.exs",),
        (
            Row(_T, "mix dialyzer", says=":dialyxir"),
            Row(_L, "mix credo", says=":credo"),
            Row(_L, "mix format --check-formatted", ".formatter.exs", beside=True),
            Row(_B, "mix compile"),
            Row(_U, "mix test"),
            Row(_D, "mix docs --output {out}/docs", says=":ex_doc"),
        ),
        covers="apps_path",
    ),
    Kind(
        (".busted", "*.rockspec", "stylua.toml", ".stylua.toml", ".luacheckrc", "selene.toml"),
        (
            Row(_L, "luacheck .", ".luacheckrc"),
            Row(_L, "selene .", "selene.toml"),
            Row(_L, "stylua --check .", "stylua.toml .stylua.toml", beside=True),
            Row(
                _U,
                "nvim --headless --noplugin -u {file} -c 'lua MiniTest.run()'",
                "scripts/minimal_init.lua tests/minimal_init.lua scripts/minit.lua tests/minit.lua",
                r"mini\.test|mini\.nvim|MiniTest",
                "mini.test",
            ),
            Row(
                _U,
                "nvim --headless --noplugin -u {file} -c "
                "\"PlenaryBustedDirectory tests/ {minimal_init = '{file}'}\"",
                "tests/minimal_init.lua tests/minimal_init.vim tests/minimal.lua tests/minimal.vim "
                "scripts/minimal_init.lua scripts/minimal_init.vim scripts/minimal.vim",
                "plenary",
                "plenary",
            ),
            Row(_U, "busted", ".busted */*_spec.lua"),
        ),
    ),
    Kind(
        ("deno.json", "deno.jsonc"),
        (
            Row(_T, "deno check .", "*.ts */*.ts"),
            Row(_L, "deno lint"),
            Row(_L, "deno fmt --check", says=r"\"fmt\"", beside=True),
            Row(_U, "deno test"),
        ),
        covers=r"\"workspace\"",
    ),
    Kind(
        ("composer.json",),
        (
            Row(
                _T,
                "vendor/bin/phpstan analyse --no-progress --error-format=raw",
                "phpstan.neon phpstan.neon.dist",
            ),
            Row(_T, "vendor/bin/psalm --no-progress --output-format=text", "psalm.xml psalm.xml.dist"),
            Row(_L, "vendor/bin/phpcs -q", "phpcs.xml phpcs.xml.dist .phpcs.xml"),
            Row(
                _L, "vendor/bin/php-cs-fixer fix --dry-run --diff", ".php-cs-fixer.php .php-cs-fixer.dist.php"
            ),
            Row(_L, "vendor/bin/pint --test", "pint.json"),
            Row(_B, "composer validate --no-interaction"),
            Row(_U, "vendor/bin/pest --ci", "tests/Pest.php"),
            Row(_U, "php artisan test", "artisan"),
            Row(_U, "vendor/bin/phpunit", "phpunit.xml phpunit.xml.dist"),
        ),
    ),
)
"""Kinds of projects by their files; the first row of a check wins."""

FORMATS: Final = Kind(
    (),
    (
        Row(_L, "npx --no-install biome ci .", "biome.json biome.jsonc"),
        Row(_L, "npx --no-install oxlint", ".oxlintrc.json"),
        Row(_L, "npx --no-install prettier --check .", ".prettierrc .prettierrc.* prettier.config.*"),
        Row(_L, "dprint check", "dprint.json .dprint.json"),
        Row(_L, "black --check --quiet .", "pyproject.toml", r"(?m)^\[tool\.black\]"),
        Row(_L, "isort --check .", "pyproject.toml", r"(?m)^\[tool\.isort\]", beside=True),
        Row(_L, "treefmt --ci", "treefmt.toml"),
        Row(_L, "yamllint .", ".yamllint .yamllint.yml .yamllint.yaml"),
        Row(_L, "buf lint", "buf.yaml"),
    ),
)
"""Format checks, used if nothing else lints."""


class TableTools(ProjectTools):
    """Tools of a kind declared as a table."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str], kind: Kind) -> None:
        super().__init__(files, environment)
        self._kind = kind
        self._own = files.has(*kind.manifests)

    @property
    def kind(self) -> str:
        return " ".join(self._kind.manifests)

    def applies(self) -> bool:
        return bool(self._own or not self._kind.manifests) or any(
            row.name and self._files.has(*row.files.split()) for row in self._kind.rows
        )

    def covers(self, folder: str) -> bool:
        texts = map(self._files.text, self._kind.manifests)
        return bool(self._kind.covers) and any(re.search(self._kind.covers, text) for text in texts)

    def find(self) -> Iterator[Tool]:
        for row in self._kind.rows:
            if tool := self._tool(row):
                yield tool

    def _tool(self, row: Row) -> Tool | None:
        names = row.files.split() if row.files else [self._own]
        fits = (name for name in map(self._files.has, names) if name and self._says(row, name))
        file = next(fits, "")
        if not file:
            return None
        argv = tuple(
            word.replace("{file}", file).replace("{out}", self._files.output) for word in self._words(row)
        )
        plain = row.says if re.fullmatch(r"[\w:-]+", row.says) else ""
        reason = f"{file} names {plain}" if plain and not row.name else f"there is {file}"
        return Tool(row.check, row.name or tool_name(argv), argv, reason, needs=_npx(argv), beside=row.beside)

    def _says(self, row: Row, name: str) -> bool:
        return not row.says or re.search(row.says, self._files.text(name)) is not None

    def _words(self, row: Row) -> list[str]:
        command = row.command
        for mark, (file, there, absent) in _LAUNCHERS.items():
            command = command.replace(mark, there if self._files.has(file) else absent)
        return shlex.split(command)


def _npx(argv: tuple[str, ...]) -> str:
    return tool_name(argv) if argv[0] == "npx" else ""


_NAMES: Final[Mapping[Check, tuple[str, ...]]] = {
    _T: ("typecheck", "type-check", "type_check", "types", "mypy", "typing", "pyright", "analyse", "phpstan"),
    _L: (
        "lint",
        "check-lint",
        "linters",
        "linting",
        "style",
        "flake8",
        "rubocop",
        "format-check",
        "check-format",
    ),
    _B: ("build", "compile", "all"),
    _U: ("test", "tests", "py", "spec", "unit", "check"),
    _D: ("docs", "doc", "html", "docs-build", "build-docs"),
}
"""Target, recipe and session names of each check, in order of preference."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """A program that runs tasks defined by name in a project file."""

    files: tuple[str, ...]
    names: str
    """A pattern of lines that define a task; its group has one or several names."""
    command: str
    word: str
    """Noun for the reason: ``Makefile has the target 'test'``."""
    says: str = ""
    """A pattern that the text must match."""
    includes: str = ""
    """A pattern of lines that include other files, named in its group."""


_DEF: Final = r"(?:\([^\n]{0,300}\))?[ \t]*\n(?:@[^\n]*\n)*(?:async )?def (\w{1,60})"

TASKS: Final[tuple[Tasks, ...]] = (
    Tasks(
        ("GNUmakefile", "makefile", "Makefile"),
        r"^((?:[A-Za-z0-9_.-]{1,60}[ \t]{1,20}){0,20}[A-Za-z0-9_.-]{1,60})[ \t]{0,20}::?(?!:?=)",
        "make {name}",
        "target",
        includes=r"^[ \t]*[-s]?include[ \t]+([^#\n]{1,500})",
    ),
    Tasks(
        ("justfile", "Justfile", ".justfile"),
        r"^@?([A-Za-z][\w-]{0,60})(?:[ \t][^:=\n]{0,200})?:(?!=)",
        "just {name}",
        "recipe",
        includes=r"^import\??[ \t]+['\"]([^'\"\n]{1,200})['\"]",
    ),
    Tasks(
        ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "Taskfile.dist.yml"),
        r"^  ['\"]?([A-Za-z][\w:-]{0,60})['\"]?:[ \t]*(?:$|#|[{\['\"\w])",
        "task {name}",
        "task",
        says=r"(?m)^tasks:",
    ),
    Tasks(("noxfile.py",), r"^@(?:nox\.)?session" + _DEF, "nox -s {name}", "session"),
    Tasks(
        ("tox.ini", "tox.toml", "pyproject.toml", "setup.cfg"),
        r"^\[(?:tox:)?(?:test|tool\.tox\.)?env(?:_run_base|[:.])?([\w.-]{0,60})\]",
        "tox -e {name}",
        "environment",
    ),
    Tasks(("tasks.py",), r"^@(?:invoke\.)?task" + _DEF, "invoke {name}", "task", says=r"\binvoke\b"),
    Tasks(
        ("Rakefile",),
        r"^[ \t]*(?:task|\w[\w:]*TestTask\.new|\w[\w:]*Task\.new)[ (]+[:'\"](\w{1,60})",
        "{bundle} rake {name}",
        "task",
    ),
    Tasks(
        ("deno.json", "deno.jsonc"),
        r"^[ \t]+\"([\w:-]{1,60})\"[ \t]*:[ \t]*\"",
        "deno task {name}",
        "task",
        says=r'"tasks"',
    ),
    Tasks(
        ("composer.json",),
        r"^[ \t]+\"([\w:-]{1,60})\"[ \t]*:[ \t]*[\"\[]",
        "composer run-script {name}",
        "script",
        says=r'"scripts"',
    ),
)
"""In order of precedence, for checks that nothing else in the project provides."""

_MOST_INCLUDED: Final = 30


class TaskTools(ProjectTools):
    """Named tasks of a project file."""

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str], tasks: Tasks) -> None:
        super().__init__(files, environment)
        self._tasks = tasks
        self._name = files.has(*tasks.files)
        self.text = self._whole()

    def applies(self) -> bool:
        return bool(self._name) and re.search(self._tasks.says, self.text) is not None

    def find(self) -> Iterator[Tool]:
        for check, names in _NAMES.items():
            if tool := self._tool(check, names):
                yield tool

    def clean(self) -> Tool | None:
        return self._tool(Check.BUILD, ("clean",)) if self._tasks.word == "target" else None

    def _tool(self, check: Check, names: tuple[str, ...]) -> Tool | None:
        name = next((name for name in names if name in self._found and not never_ends(self._found[name])), "")
        if not name:
            return None
        file, there, absent = _LAUNCHERS["{bundle}"]
        command = self._tasks.command.replace("{bundle}", there if self._files.has(file) else absent)
        argv = tuple(word.replace("{name}", name) for word in command.split())
        reason = f"{self._name} has the {self._tasks.word} {name!r}"
        return Tool(check, tool_name(argv), argv, reason, recipe=self.text)

    @cached_property
    def _found(self) -> dict[str, str]:
        """Return the tasks by name, each with the more deeply indented text below its first line."""
        found: dict[str, str] = {}
        for match in re.finditer(self._tasks.names, self.text, re.MULTILINE):
            line = self.text[match.start() : match.end()].rpartition("\n")[2]
            depth = len(line) - len(line.lstrip())
            below = re.compile(rf"[^\n]*\n(?:[ \t]{{{depth + 1},}}[^\n]*\n?|[ \t]*\n)*")
            body = below.match(self.text, match.end())
            # an environment without a name is the base of all test environments
            for name in match[1].split() or ["py"]:
                found.setdefault(
                    name.replace("_", "-") if self._tasks.word == "task" else name, body[0] if body else ""
                )
        return found

    def _whole(self) -> str:
        """Return the file's text with the project files that it includes."""
        texts = {self._name: self._files.text(self._name)} if self._name else {}
        waiting = list(texts)
        while self._tasks.includes and waiting and len(texts) < _MOST_INCLUDED:
            for words in re.findall(self._tasks.includes, texts[waiting.pop()], re.MULTILINE):
                for word in words.split()[:_MOST_INCLUDED]:
                    name = "" if word.startswith("/") or ".." in word.split("/") else self._files.has(word)
                    if name and name not in texts:
                        texts[name] = self._files.text(name)
                        waiting.append(name)
        return "\n".join(texts.values())
