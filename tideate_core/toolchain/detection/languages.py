"""Detect the check commands of JavaScript, Rust, Go and CMake projects."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tideate_core.toolchain.detection.tools import (
    Check,
    ProjectFiles,
    ProjectTools,
    Tool,
    never_ends,
    read_toml,
    table,
)
from tideate_core.util.programs import find_on_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MANAGERS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "pnpm-workspace.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
"""Package managers by the lock file that only they write."""

_SCRIPTS: Final[Mapping[Check, tuple[str, ...]]] = {
    Check.TYPE_CHECK: ("typecheck", "type-check", "type_check", "check-types", "check:types", "types", "tsc"),
    Check.LINT: ("lint", "lint:check", "eslint"),
    Check.TESTS: ("test", "tests", "test:unit"),
    Check.BUILD: ("build", "compile"),
    Check.DOCUMENTATION: ("docs", "doc", "docs:build", "build:docs", "typedoc"),
}

_RECURSIVE: Final[Mapping[str, tuple[str, ...]]] = {
    "npm": ("run", "--workspaces", "--if-present"),
    "pnpm": ("-r", "--if-present", "run"),
    "yarn": ("workspaces", "foreach", "--all", "run"),
    "bun": ("run", "--filter", "*"),
}
"""Arguments of each package manager to run a script in all workspace members."""

_PNPM: Final = "pnpm-workspace.yaml"
_MOST_MEMBERS: Final = 100
"""Maximum number of workspace folders searched."""

_FIRST_WORD: Final = re.compile(
    r"(?:(?:cross-env(?:-shell)?|env)[ \t]+)?(?:\w+=[^\s'\"]*[ \t]+)*([A-Za-z][\w.-]{0,60})(?![\w=./-])"
)
_SHELL: Final = frozenset(
    [
        "cd",
        "echo",
        "exit",
        "export",
        "test",
        "true",
        "false",
        "set",
        "if",
        "for",
        "while",
        "exec",
        "source",
        "eval",
        "node",
    ]
)
"""First words of a script that are not the project's own programs."""

_BUILT: Final = re.compile(r"(?<![\w./-])(?:\./)?(?:dist|build|out)/")
_BUILDING: Final = re.compile(r"\b(?:build|compile|tsc)\b(?!/)")
"""Patterns of a script that runs build output, and of a script that builds it."""

_RUN: Final = re.compile(r"\b(?:npm|pnpm|yarn|bun)(?: run| -s| --silent){0,2} ([\w:.-]{1,60})")

_ONCE: Final = re.compile(r"\bsingleRun['\"]?\s{0,9}:\s{0,9}true\b")
"""Karma setting that ends it after one run."""

_NO_TEST: Final = "no test specified"
"""Text of the script written by `npm init`."""

_ESLINT: Final = tuple(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts")) + tuple(
    f".eslintrc{end}" for end in ("", ".js", ".cjs", ".json", ".yml", ".yaml")
)


def _is_check(files: ProjectFiles, name: str) -> bool:
    """Return whether a script exists, does something, and ends."""
    once = _ONCE.search(files.text(files.has("karma.conf.*")))
    scripts = {
        key: text.replace("karma start", "karma run") if once else text for key, text in files.scripts.items()
    }
    waiting, seen = [name], set[str]()
    while waiting:
        one = waiting.pop()
        text = scripts.get(one)
        if text is None or one in seen:
            continue
        seen.add(one)
        if _NO_TEST in text or never_ends(text):
            return False
        waiting += _RUN.findall(text)
    return bool(seen)


def _fits(folder: str, pattern: str) -> bool:
    """Return whether a folder matches a workspace pattern; ``*`` matches one name, ``**`` any path."""
    form = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", "[^/]+")
    return re.fullmatch(form, folder) is not None


class NodeTools(ProjectTools):
    """Tools of a project with package.json: its scripts, or programs in node_modules."""

    manifests = ("package.json",)

    def find(self) -> Iterator[Tool]:
        for check, names in _SCRIPTS.items():
            yield from (self._script(check, name) for name in names if _is_check(self._files, name))
        yield from self._programs()
        yield from self._of_members()

    def clean(self) -> Tool | None:
        return self._script(Check.BUILD, "clean") if "clean" in self._files.scripts else None

    def covers(self, folder: str) -> bool:
        known = [pattern.removeprefix("./").strip("/") for pattern in self._workspaces()]
        fits = [not pattern.startswith("!") for pattern in known if _fits(folder, pattern.removeprefix("!"))]
        return bool(fits) and all(fits)

    def _workspaces(self) -> list[str]:
        """Return the patterns of workspace members.

        Yarn 1 cannot run a script in only the members that have it, so there each member is a separate part.
        """
        named = str(self._files.package.get("packageManager", ""))
        is_first = not self._files.has(".yarnrc.yml") and not re.match(r"yarn@[2-9]", named)
        if self._manager() == "yarn" and is_first:
            return []
        own: Any = self._files.package.get("workspaces")
        found = own.get("packages") if isinstance(own, dict) else own
        patterns = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
        listed = re.search(
            r"^packages:[^\n]*((?:\n(?:[ \t]*-[^\n]*|[ \t]*(?:#[^\n]*)?))*)",
            self._files.text(_PNPM),
            re.MULTILINE,
        )
        return patterns + (
            re.findall(r"^[ \t]*-[ \t]+['\"]?([^'\"\s#]+)", listed[1], re.MULTILINE) if listed else []
        )

    def _of_members(self) -> Iterator[Tool]:
        """Yield the scripts of all workspace members, each run by one command."""
        patterns = [one for one in self._workspaces() if not one.startswith(("!", "/")) and ".." not in one]
        found = {
            path.parent.relative_to(self._files.root).as_posix()
            for one in patterns[:_MOST_MEMBERS]
            for path in islice(self._files.root.glob(f"{one.replace('**', '*')}/package.json"), _MOST_MEMBERS)
        }
        members = [ProjectFiles(self._files.root, one) for one in sorted(found) if self.covers(one)]
        manager = self._manager()
        for check, scripts in _SCRIPTS.items():
            for name in scripts:
                having = [one for one in members if _is_check(one, name)]
                if having:
                    recipe = "\n".join(f"{one.folder}: {one.scripts[name]}" for one in having)
                    folder = "folder" if len(having) == 1 else "folders"
                    reason = f"{len(having)} {folder} of the workspace have the script {name!r}"
                    yield Tool(check, manager, (manager, *_RECURSIVE[manager], name), reason, recipe)

    def _script(self, check: Check, name: str) -> Tool:
        manager = self._manager()
        recipe = self._text_of(name)
        reason = f"package.json has the script {name!r}"
        builds = any(one in self._files.scripts for one in _SCRIPTS[Check.BUILD])
        built = builds and check == Check.TESTS and _BUILT.search(recipe) and not _BUILDING.search(recipe)
        needs = _FIRST_WORD.match(self._files.scripts[name])
        return Tool(
            check,
            manager,
            (manager, "run", name),
            reason,
            recipe,
            needs=needs[1] if needs and needs[1] not in _SHELL else "",
            after_build=bool(built),
        )

    def recipe(self, argv: Sequence[str]) -> str:
        """Return the text that a package manager's command runs; empty for other commands."""
        if argv[0] not in _RECURSIVE:
            return ""
        words = [word for word in argv[1:] if not word.startswith("-") and word != "run"]
        name = {"t": "test", "tst": "test"}.get(words[0], words[0]) if words else ""
        option = argv[0] == "npm" and any(word in ("--workspaces", "-ws") for word in argv)
        if option:
            return next((tool.recipe for tool in self._of_members() if tool.argv[-1] == name), "")
        # an option with a value may name another folder
        return self._text_of(name) if len(words) == 1 else ""

    def _text_of(self, name: str) -> str:
        """Return a script with its `pre` and `post` scripts and the scripts that they run."""
        waiting, texts = [name], dict[str, str]()
        while waiting:
            one = waiting.pop(0)
            for part in (f"pre{one}", one, f"post{one}"):
                text = self._files.scripts.get(part, "")
                if text and part not in texts:
                    texts[part] = text
                    waiting += [] if "||" in text else _RUN.findall(text)
        return "\n".join(texts.values())

    def _manager(self) -> str:
        named = str(self._files.package.get("packageManager", "")).partition("@")[0]
        if named in _MANAGERS.values():
            return named
        return next((manager for lock, manager in _MANAGERS.items() if self._files.has(lock)), "npm")

    def _programs(self) -> Iterator[Tool]:
        if self._files.has("tsconfig.json") and (tsc := self._own("tsc")):
            options = ("--noEmit", "--pretty", "false")
            yield Tool(Check.TYPE_CHECK, "tsc", (tsc, *options), "there is tsconfig.json; from node_modules")
        config = self._files.has(*_ESLINT) or ("eslintConfig" in self._files.package and "package.json")
        if config and (eslint := self._own("eslint")):
            yield Tool(Check.LINT, "eslint", (eslint, "."), f"{config} configures it; from node_modules")
        for runner, option in (("vitest", "run"), ("jest", "--ci")):
            if runner in self._needs() and (program := self._own(runner)):
                reason = f"package.json names {runner}; from node_modules"
                yield Tool(Check.TESTS, runner, (program, option), reason)

    def _own(self, name: str) -> str:
        path = f"node_modules/.bin/{name}"
        return path if self._files.runnable(path) else ""

    def _needs(self) -> set[str]:
        kinds = ("dependencies", "devDependencies")
        return {name for kind in kinds for name in table(self._files.package, kind)}


_BUILDS: Final = ("build", "_build", "out", "cmake-build-debug", "cmake-build-release")
"""Usual build directories of CMake."""

_LINES: Final = re.IGNORECASE | re.MULTILINE
_CTEST: Final = re.compile(r"^[ \t]*(?:enable_testing|include[ \t]*\([ \t]*CTest\b)", _LINES)
"""Lines of a CMakeLists.txt that enable tests."""

_ADDED: Final = re.compile(
    r"(?:\badd_subdirectory[ \t]*\(|\bSOURCE_DIR)\s{0,99}\"?([^\s\")]{1,300})", re.IGNORECASE
)
"""Folder that a CMakeLists.txt adds to its build."""
_HERE: Final = re.compile(
    r"^\$\{(?:CMAKE_CURRENT_(?:SOURCE|LIST)_DIR|CMAKE_SOURCE_DIR|PROJECT_SOURCE_DIR)\}/"
)
_VARIABLE: Final = re.compile(r"\$\{[^}]*\}")


class CargoTools(ProjectTools):
    """Tools of a Rust project."""

    manifests = ("Cargo.toml",)

    def find(self) -> Iterator[Tool]:
        yield self._tool(Check.TYPE_CHECK, "check", "--all-targets")
        if find_on_path("cargo-clippy", self._environment):
            yield self._tool(Check.LINT, "clippy", "--all-targets", "--", "-D", "warnings")
        yield self._tool(Check.BUILD, "build")
        yield self._tool(Check.TESTS, "test")
        yield self._tool(Check.DOCUMENTATION, "doc", "--no-deps")

    def clean(self) -> Tool:
        return Tool(Check.BUILD, "cargo", ("cargo", "clean", "--color", "never"), "there is Cargo.toml")

    def covers(self, folder: str) -> bool:
        workspace = self._manifest.get("workspace")
        if not isinstance(workspace, dict):
            return False
        excluded = workspace.get("exclude", [])
        names = excluded if isinstance(excluded, list) else []
        below = (f"{str(one).removeprefix('./').rstrip('/')}/" for one in names)
        return not f"{folder}/".startswith(tuple(below))

    @property
    def alone(self) -> bool:
        return "workspace" in self._manifest

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        return read_toml(self._files.text("Cargo.toml"))

    def _tool(self, check: Check, verb: str, *options: str) -> Tool:
        workspace = table(self._manifest, "workspace")
        # without it cargo uses only the root package or the default members
        part = "workspace" in self._manifest and (
            "package" in self._manifest or "default-members" in workspace
        )
        whole = ("--workspace",) if part else ()
        reason = "Cargo.toml has a workspace" if part else "there is Cargo.toml"
        return Tool(check, "cargo", ("cargo", verb, "--color", "never", *whole, *options), reason)


class GoTools(ProjectTools):
    """Tools of a Go module, or of a workspace of modules."""

    manifests = ("go.work", "go.mod")

    def find(self) -> Iterator[Tool]:
        reason = f"there is {self._files.has(*self.manifests)}"
        packages = [f"./{one}/..." if one != "." else "./..." for one in self._modules()] or ["./..."]
        yield Tool(Check.TYPE_CHECK, "go", ("go", "vet", *packages), reason)
        if name := self._files.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"):
            yield Tool(Check.LINT, "golangci-lint", ("golangci-lint", "run"), f"there is {name}")
        # for a single program, `go build` would leave a binary in the project
        yield Tool(Check.BUILD, "go", ("go", "build", "-o", "/dev/null", *packages), reason)
        yield Tool(Check.TESTS, "go", ("go", "test", *packages), reason)

    def covers(self, folder: str) -> bool:
        return folder in self._modules()

    def _modules(self) -> list[str]:
        """Return the workspace's modules relative to it."""
        text = re.sub(r"//[^\n]*", "", self._files.text("go.work"))
        listed = " ".join(re.findall(r"^[ \t]*use[ \t]*\(([^)]*)\)", text, re.MULTILINE))
        named = re.findall(r"^[ \t]*use[ \t]+([^\s(]+)", text, re.MULTILINE)
        names = (word.strip('"').removeprefix("./").rstrip("/") or "." for word in [*listed.split(), *named])
        return [name for name in names if not name.startswith(("/", "-", ".."))]


class CMakeTools(ProjectTools):
    """Tools of a CMake project: in its configured build folder, or in a private one."""

    manifests = ("CMakeLists.txt",)

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        super().__init__(files, environment)
        self._folder = next((name for name in _BUILDS if files.has(f"{name}/CMakeCache.txt")), "")

    def applies(self) -> bool:
        # a Python package's build runs CMake itself
        return super().applies() and bool(self._folder or "build-system" not in self._files.pyproject)

    def covers(self, folder: str) -> bool:
        # without `project()` it can only be built from above
        own = re.search(r"^[ \t]*project[ \t]*\(", self._files.text(f"{folder}/CMakeLists.txt"), _LINES)
        return own is None or any(fnmatchcase(folder, one) for one in self._added)

    @cached_property
    def _added(self) -> set[str]:
        """Return the folders built together with this one; ``*`` replaces variables."""
        found, waiting = set[str](), [""]
        while waiting and len(found) < _MOST_MEMBERS:
            folder = waiting.pop()
            text = re.sub(r"#[^\n]*", "", self._files.text(posixpath.join(folder, "CMakeLists.txt")))
            for name in _ADDED.findall(text):
                path = posixpath.normpath(posixpath.join(folder, _VARIABLE.sub("*", _HERE.sub("", name))))
                if path not in found:
                    found.add(path)
                    waiting.append(path)
        return found

    def find(self) -> Iterator[Tool]:
        if self._folder:
            reason = f"there is CMakeLists.txt and {self._folder}/CMakeCache.txt"
            yield Tool(Check.BUILD, "cmake", ("cmake", "--build", self._folder), reason)
            if self._files.has(f"{self._folder}/CTestTestfile.cmake"):
                yield self._tests(self._folder, f"there is {self._folder}/CTestTestfile.cmake")
            return
        folder = f"{self._files.output}/cmake"
        generator = "Ninja" if find_on_path("ninja", self._environment) else "Unix Makefiles"
        # configures and builds again: no stale output of an earlier text remains
        argv = ("ctest", "--build-and-test", ".", folder, "--build-generator", generator)
        reason = "there is CMakeLists.txt; it is built outside the project"
        yield Tool(Check.BUILD, "cmake", argv, reason, needs="cmake")
        if _CTEST.search(self._files.text("CMakeLists.txt")):
            yield self._tests(folder, "CMakeLists.txt has tests")

    def _tests(self, folder: str, reason: str) -> Tool:
        argv = ("ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error")
        return Tool(Check.TESTS, "ctest", argv, reason, after_build=True)

    def clean(self) -> Tool | None:
        argv = ("cmake", "--build", self._folder, "--target", "clean")
        reason = f"there is {self._folder}/CMakeCache.txt"
        return Tool(Check.BUILD, "cmake", argv, reason) if self._folder else None
