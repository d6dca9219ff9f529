"""Test summaries that a command must print, derived from the project files that it runs."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.detection import recipe_of
from tideate_core.toolchain.detection.tools import split_folder
from tideate_core.toolchain.testing.printed_results import prints_otherwise
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_PYTHON: Final = (
    r"(?:(?:\S*python[\d.]*|\$[({]\w{1,40}[)}])(?: -[A-Za-z]\b)*? -m )?(?:coverage run (?:-\S+ )*(?:-m )?)?"
)
_SETTINGS: Final = r"(?:(?:env|exec|time|nice|xvfb-run)(?: -\S+)* |timeout (?:-\S+ )*\S+ |\w{1,60}=\S* ){0,4}"
_BEFORE: Final = (
    rf"{_SETTINGS}(?:(?:uv|poetry|pdm|hatch|pipenv) run |npx |bunx |yarn |pnpm (?:exec )?|c8 |nyc |"
    r"bundle exec )?"
)
_COMMANDS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(rf"[-@+]{{0,3}}{_BEFORE}(?:{words})(?: |$)")
    for name, words in {
        "pytest": rf"{_PYTHON}(?:\S*/)?(?:pytest|py\.test)",
        "unittest": rf"{_PYTHON}unittest|(?:\S*python[\d.]* )?(?:\./)?manage\.py test",
        "jest": r"(?:\S*/)?(?:jest|vitest(?= run|$))",
        "cargo": r"cargo test",
        "nextest": r"cargo nextest run",
        "ctest": r"(?:\S*/)?ctest",
        "go": r"go test",
        "node": r"node (?:-\S+ )*--test",
        "mocha": r"(?:\S*/)?mocha",
        "busted": r"(?:\S*/)?busted",
        "rspec": r"(?:\S*/)?rspec",
        "mix": r"mix test",
        "minitest": r"(?:\S*/)?rails test|ruby (?:-\S+ )*-Itest -e",
    }.items()
}
"""Commands of runners that always end with a summary, by runner."""
_QUIET: Final = re.compile(
    r"\s(?:-qqqq|--verbosity|-p no:terminal|--co\b|--collect-only|--list|--no-run|--version|--help|-h\b|"
    r"--show-only|-N\b|-json\b|-list\b|-c\b(?= )|--(?:test-)?report|-R |-f |-o |-O |"
    r"--output(?!-on-failure)|--format)"
)
"""Options that suppress or change the summary."""
_SHELL: Final = re.compile(r"^(?:function\s|\w[\w-]{0,60} ?\(\))|&&\s{0,9}[({]|\|\||[^&]&(?!&)|[<>|`]")
"""Shell syntax that may skip commands or redirect their output."""

_PROGRAM: Final = re.compile(rf"[-@+]{{0,3}}{_SETTINGS}(?P<words>.*)", re.DOTALL)
_SHELLS: Final = ("sh", "bash", "dash", "zsh", "ksh")
_TASKS: Final = ("make", "gmake", "just", "$(MAKE)", "${MAKE}")
_SCRIPTED: Final = ("npm", "pnpm", "yarn", "bun")
_MAIN: Final = re.compile(
    r"^(?:if __name__ [^\n]{0,60}:[ \t]*\n(?:[ \t]+[^\n]{0,300}\n){0,20}?[ \t]+)?"
    r"(?:sys\.exit\(|raise SystemExit\()?(unittest|pytest)\.main\((?![^\n]*testRunner)",
    re.MULTILINE,
)
"""Call in a Python file that runs its own tests."""
_RAKE: Final[Mapping[str, re.Pattern[str]]] = {
    "minitest": re.compile(r"(?:Rake|Minitest)::TestTask\.(?:new|create)(?![ (]+[:'\"](?!test\b))"),
    "rspec": re.compile(r"RSpec::Core::RakeTask\.new"),
}
"""Rakefile tasks that run tests, by runner."""
_RUBY_MAIN: Final = re.compile(r"^require ['\"](?:minitest/autorun|test/unit)['\"]", re.MULTILINE)
_NODE_MAIN: Final = re.compile(r"['\"]node:test['\"]")
_NODE_CALL: Final = re.compile(
    r"^(?:await )?(?:\w{1,20}\.)?(?:test|it|describe|suite)(?:\.\w{1,20})?\(", re.MULTILINE
)
"""A test outside any condition or function."""
_UNSURE: Final = re.compile(r"\bexit\b(?!\s+[1-9])|\breturn\b|<<|^exec ")
"""Text after which a script may have ended, or its lines are not commands."""
_OPENS: Final = re.compile(
    r"(?:^[@+-]{0,3}|[;&|]\s{0,9}|\b(?:then|do|else)\s{1,9})(?:if|case|while|for|until|select)\b|[{(]$"
)
_CLOSES: Final = re.compile(r"(?:^|;\s{0,9})(?:fi|done|esac|\})(?!\w)|^\)")
_LARGEST: Final = 1 << 20
_MOST_TEXTS: Final = 50
"""Maximum number of texts read for one command."""


def expected_summaries(folder: Path, argv: Sequence[str]) -> dict[str, int]:
    """Return the minimum number of summaries by runner; blocking.

    :param folder: the command's working directory.
    """
    return dict(_read_command(folder, argv).expected)


def node_can_report(folder: Path, argv: Sequence[str]) -> bool:
    """Return whether no part of a command sets its own reporter for `node --test`; blocking."""
    return not _read_command(folder, argv).node_reports


def _read_command(folder: Path, argv: Sequence[str]) -> _Reader:
    reader = _Reader()
    reader.command(shlex.join(argv), folder)
    return reader


class _Reader:
    """Follows a command into the Makefiles and scripts that it runs."""

    def __init__(self) -> None:
        self.expected: Counter[str] = Counter()
        self.node_reports = False
        self._open: list[str] = []
        self._texts = 0

    def command(self, plain: str, folder: Path | None, *, settles: bool = True) -> bool:
        """Count the runners of one command; returns whether it is itself a runner's command.

        :param folder: its working directory; None if unknown.
        :param settles: its failure is a failure of the whole.
        """
        plain = re.sub(r"[ \t]+", " ", plain).strip()
        for name, pattern in _COMMANDS.items():
            if pattern.match(plain):
                quiet = _QUIET.search(plain) or (folder and prints_otherwise(name, folder))
                self.expected.update([] if quiet else [name])
                return True
        match = _PROGRAM.match(plain)
        try:
            words = shlex.split(match["words"]) if match else []
        except ValueError:
            return False
        # a recursive text may depend on a condition
        if words and folder is not None and plain not in self._open and self._texts < _MOST_TEXTS:
            self._texts += 1
            self._open.append(plain)
            self._behind(words, folder, settles)
            self._open.pop()
        return False

    def _behind(self, words: list[str], folder: Path, settles: bool) -> None:
        name = posixpath.basename(words[0])
        if name in _TASKS:
            words[0] = name if name == "just" else "make"
            place, _, targets = split_folder(words)
            recipe = self._noted(recipe_of(folder, words))
            body = _lines_of_targets(recipe, targets)
            one_shell = "#!" in body or ".ONESHELL" in recipe
            for text in [body] if one_shell else body.split("\n"):
                self._lines(text, folder / place, settles)
        elif name in _SCRIPTED:
            # the recipe already includes the scripts that it runs
            if any(re.match(rf"(?:{'|'.join(_SCRIPTED)}) ", one) for one in self._open[:-1]):
                return
            recipe = self._noted(recipe_of(folder, words))
            # a script run before `;` may fail
            settles = settles and ";" not in recipe
            for line in recipe.split("\n"):
                self._lines(re.sub(r"^[^\s:]{1,200}: ", "", line), folder / split_folder(words)[0], settles)
        elif name in _SHELLS and re.fullmatch("-[a-z]*c", "".join(words[1:2])):
            self._lines(self._noted("".join(words[2:3])), folder, settles)
        elif name in _SHELLS:
            self._lines(self._noted(_read(folder / _first(words, "[^-]"))), folder, settles)
        elif words[:2] == ["bundle", "exec"]:
            self.command(shlex.join(words[2:]), folder, settles=settles)
        elif "/" in words[0] and re.match(r"#![^\n]*sh\b", text := _read(folder / words[0])):
            self._lines(self._noted(text), folder, settles)
        else:
            self._tests_of_file(name, words, folder)

    def _noted(self, text: str) -> str:
        self.node_reports = self.node_reports or "--test-reporter" in text
        return text

    def _tests_of_file(self, name: str, words: list[str], folder: Path) -> None:
        runner = ""
        if name.startswith("python"):
            match = _MAIN.search(_read(folder / _first(words, r".*\w\.py$")))
            runner = match[1] if match else ""
        elif name == "node":
            text = _read(folder / _first(words, r".*\w\.[cm]?[jt]s$"))
            runner = "node" if _NODE_MAIN.search(text) and _NODE_CALL.search(text) else ""
        elif name == "ruby":
            runner = "minitest" if _RUBY_MAIN.search(_read(folder / _first(words, r".*\w\.rb$"))) else ""
        elif name == "rake":
            task = {"test": "minitest", "spec": "rspec"}.get("".join(words[1:]), "")
            runner = task if task and _RAKE[task].search(_read(folder / "Rakefile")) else ""
        self.expected.update([runner] if runner else [])

    def _lines(self, text: str, folder: Path | None, settles: bool) -> None:
        """Count the runners in the lines of one shell.

        :param settles: a failure of the last line is a failure of the whole.
        """
        for line, ends in _with_last(_unconditional(text), settles):
            # the command before `||` always runs
            first, _, otherwise = line.partition("||")
            if _SHELL.search(first) or (otherwise and re.search("&&|;", first)):
                continue
            ends = ends and not otherwise and not re.match(r"[@+]?-", line)
            for commands, last in _with_last(first.strip("; \t").split(";"), ends):
                for command in commands.split("&&"):
                    if match := re.match(r"\s*(?:cd|pushd)\s+['\"]?([^'\"\s]+)", command):
                        folder = folder / match[1] if folder and "$" not in match[1] else None
                    # a failing runner reports it; the status of another program in a list may not matter
                    elif not self.command(command, folder, settles=last) and not last:
                        break


def _with_last(items: Sequence[str], last: bool) -> Iterator[tuple[str, bool]]:
    """Yield each item with False, the last one with the given value."""
    yield from zip(items, [*(False for _ in items[1:]), last], strict=True)


def _first(words: list[str], form: str) -> str:
    return next((word for word in words[1:] if re.match(form, word)), "")


def _read(path: Path) -> str:
    return (read_bounded(path, _LARGEST) or b"").decode(errors="replace")


def _unconditional(text: str) -> list[str]:
    """Return the lines of a shell script that always run, with `:` in place of others."""
    depth, kept = 0, list[str]()
    # join command lists that continue on the next line
    text = re.sub(r"(&&|\|)[ \t]{0,80}\n\s{0,200}", r"\1 ", text.replace("\\\n", " "))
    for line in text.split("\n"):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        opened, closed = len(_OPENS.findall(bare)), len(_CLOSES.findall(bare))
        kept.append(":" if depth or opened else bare)
        depth += opened - closed
        if _UNSURE.search(bare) or depth < 0 or bare.count('"') % 2 or bare.count("'") % 2:
            kept.append(":")
            break
    return kept or [""]


def _lines_of_targets(text: str, words: Sequence[str]) -> str:
    """Return the commands of the named targets and of their prerequisites."""
    text = text.replace("\\\n", " ")
    rules: dict[str, list[re.Match[str]]] = {}
    for rule in _RULE.finditer(text):
        for name in rule["names"].split():
            rules.setdefault(name, []).append(rule)
    waiting = [word for word in words if word in rules] or list(rules)[:1]
    bodies: dict[str, None] = {}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            found = rules.get(name, [])
            waiting += [one for rule in found for one in rule["needs"].split()]
            told = [rule["body"] for rule in found if rule["body"].strip()]
            # of several definitions, one may be for another system
            bodies.update(dict.fromkeys(told if len(told) == 1 else ()))
    return _filled("".join(bodies), text)


def _filled(lines: str, text: str) -> str:
    """Return Makefile or justfile lines with variables expanded."""
    values: dict[str, set[str]] = {}
    for match in _VARIABLE.finditer(text):
        values.setdefault(match["name"], set()).add(match["value"].strip("'\" \t"))
    for _ in range(3):
        lines = _USED.sub(
            lambda match: (next(iter(values[match[1]])) if len(values.get(match[1], ())) == 1 else match[0])[
                :300
            ],
            lines[:_LONGEST_RECIPE],
        )
    return lines


_LONGEST_RECIPE: Final = 1 << 16
_RULE: Final = re.compile(
    r"^@?(?P<names>[A-Za-z][\w.-]{0,60}(?:[ ][\w.-]{1,60}){0,20})[^\n:=]{0,300}::?(?!=)"
    r"(?P<needs>[^\n=#;|]{0,500})[^\n]{0,500}\n(?P<body>(?:[ \t]+[^\n]*(?:\n|$)|\n(?=[ \t]))*)",
    re.MULTILINE,
)
_VARIABLE: Final = re.compile(
    r"^(?:export )?(?P<name>\w{1,60})[ \t]{0,20}[:?]{0,3}=[ \t]{0,20}(?P<value>[^\n#]{0,300})", re.MULTILINE
)
_USED: Final = re.compile(r"(?:\$\(|\$\{|\{\{ ?)(\w{1,60})(?:\)| ?\}\}?)")
