"""Detect the check commands of a Python project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tideate_core.process import VIRTUAL_ENVIRONMENTS
from tideate_core.toolchain.detection.tools import Check, ProjectTools, Tool, table
from tideate_core.util.programs import find_on_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.toolchain.detection.tools import ProjectFiles


class PythonTools(ProjectTools):
    """Tools of a project with pyproject.toml, setup.cfg or setup.py.

    Tools in the project's virtual environment take precedence over PATH.
    """

    manifests = ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini", "manage.py")

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        super().__init__(files, environment)
        self._venv = next((name for name in VIRTUAL_ENVIRONMENTS if files.runnable(f"{name}/bin/python")), "")
        broken = (name for name in VIRTUAL_ENVIRONMENTS if files.has(f"{name}/pyvenv.cfg"))
        self._path = "of PATH, no virtual environment has it"
        if not self._venv and (name := next(broken, "")):
            self._path = f"of PATH, because {name} is broken: {name}/bin/python cannot be run; recreate it"
        self._wanted = _dependencies(files)

    def find(self) -> Iterator[Tool]:
        yield from self._type_checkers()
        yield from self._linters()
        yield from self._tests()
        yield from self._build()
        yield from self._documentation()

    def _type_checkers(self) -> Iterator[Tool]:
        if reason := self._uses("mypy", ("mypy.ini", ".mypy.ini"), "mypy"):
            own = self._files.tool("mypy") or {}
            said = any(key in own for key in ("files", "packages", "modules")) or self._ini_says_files()
            options = ("--no-color-output", "--show-column-numbers", "--no-pretty", "--no-error-summary")
            yield self._tool(Check.TYPE_CHECK, "mypy", (*options, *(() if said else (".",))), reason)
        if reason := self._uses("pyright", ("pyrightconfig.json",), ""):
            yield self._tool(Check.TYPE_CHECK, "pyright", (), reason, module=False)

    def _ini_says_files(self) -> bool:
        texts = (self._files.text(name) for name in ("mypy.ini", ".mypy.ini", "setup.cfg"))
        return any(re.search(r"^(?:files|packages|modules)[ \t]*=", text, re.MULTILINE) for text in texts)

    def _linters(self) -> Iterator[Tool]:
        if reason := self._uses("ruff", ("ruff.toml", ".ruff.toml"), ""):
            options = ("check", "--no-fix", "--output-format=concise", ".")
            yield self._tool(Check.LINT, "ruff", options, reason, module=False)
        if reason := self._uses("flake8", (".flake8",), "flake8", "flake8"):
            yield self._tool(Check.LINT, "flake8", (".",), reason)

    def _tests(self) -> Iterator[Tool]:
        reason = self._uses(
            "pytest", ("pytest.ini", "conftest.py", "tests/conftest.py"), "tool:pytest", "pytest"
        )
        if reason:
            yield self._pytest(reason)
        elif "django" in self._files.text("manage.py"):
            folder = f"{self._venv}/bin/" if self._venv else ""
            argv = (f"{folder}python" if folder else "python3", "manage.py", "test")
            reason = f"there is Django's manage.py; {f'from {self._venv}' if folder else self._path}"
            # installed together with Django
            yield Tool(Check.TESTS, "django", argv, reason, needs=f"{folder}django-admin")

    def _pytest(self, reason: str) -> Tool:
        return self._tool(Check.TESTS, "pytest", ("-q", "--tb=short", "-rfE", "--color=no"), reason)

    def _build(self) -> Iterator[Tool]:
        system = table(self._files.pyproject, "build-system")
        if not system:
            return
        backend = (
            str(system.get("build-backend") or "setuptools.build_meta").partition(":")[0].partition(".")[0]
        )
        # without isolation, nothing must be downloaded
        alone = ("--no-isolation",) if self._has_module(backend) else ()
        options = ("--wheel", *alone, "--outdir", f"{self._files.output}/dist")
        yield self._tool(Check.BUILD, "build", options, f"pyproject.toml has [build-system] ({backend})")

    def _documentation(self) -> Iterator[Tool]:
        if name := self._files.has("mkdocs.yml", "mkdocs.yaml"):
            site = ("build", "--strict", "--quiet", "--site-dir", f"{self._files.output}/site")
            yield self._tool(Check.DOCUMENTATION, "mkdocs", site, f"there is {name}")
        if name := self._files.has("docs/conf.py", "doc/conf.py", "docs/source/conf.py"):
            source = name.removesuffix("/conf.py")
            pages = ("-W", "--keep-going", "-q", "-b", "html", source, f"{self._files.output}/docs")
            yield self._tool(Check.DOCUMENTATION, "sphinx", pages, f"there is {name}")

    def _uses(self, tool: str, own_files: tuple[str, ...], section: str, tox: str = "") -> str:
        """Return evidence that the project uses a tool; empty if there is none."""
        if self._files.tool(tool) is not None:
            return f"pyproject.toml has [tool.{tool}]"
        if name := self._files.has(*own_files):
            return f"there is {name}"
        if section and section in self._files.sections("setup.cfg"):
            return f"setup.cfg has [{section}]"
        if tox and tox in self._files.sections("tox.ini"):
            return f"tox.ini has [{tox}]"
        return f"{self._wanted[tool]} names {tool}" if tool in self._wanted else ""

    def _tool(
        self, check: Check, name: str, options: tuple[str, ...], reason: str, *, module: bool = True
    ) -> Tool:
        """Return a tool from the project's environment, or from PATH.

        :param module: it runs as `python -m`, which also works in an environment that was moved.
        """
        command = {"sphinx": "sphinx-build", "build": "pyproject-build"}.get(name, name)
        as_module = ("-m", name)
        if self._venv and (name == "unittest" or self._files.runnable(f"{self._venv}/bin/{command}")):
            program = (f"{self._venv}/bin/python", *as_module) if module else (f"{self._venv}/bin/{command}",)
            return Tool(check, name, (*program, *options), f"{reason}; from {self._venv}")
        if name == "pyright" and self._files.runnable("node_modules/.bin/pyright"):
            return Tool(check, name, ("node_modules/.bin/pyright", *options), f"{reason}; from node_modules")
        if name == "unittest":
            return Tool(check, name, ("python3", *as_module, *options), f"{reason}; {self._path}")
        return Tool(check, name, (command, *options), f"{reason}; {self._path}")

    def _installed(self, name: str) -> bool:
        own = self._venv and self._files.runnable(f"{self._venv}/bin/{name}")
        return bool(own) or find_on_path(name, self._environment) is not None

    def _has_module(self, name: str) -> bool:
        folders = (self._files.root / (self._venv or "-")).glob("lib/python3*/site-packages")
        return any((folder / name).is_dir() or (folder / f"{name}.py").is_file() for folder in folders)


class UnittestTools(PythonTools):
    """Tests of a Python project that does not declare its test runner."""

    def find(self) -> Iterator[Tool]:
        if self._files.has("tests") and self._installed("pytest"):
            yield self._pytest("there is tests/ and pytest is installed")
        elif folder := self._files.has("tests", "test"):
            # from the root, a folder is importable only as a package
            top = ("-t", ".") if self._files.has(f"{folder}/__init__.py") else ()
            reason = f"there is {folder}/ and no sign of pytest"
            yield self._tool(Check.TESTS, "unittest", ("discover", "-s", folder, *top), reason)


def _dependencies(files: ProjectFiles) -> dict[str, str]:
    """Return the packages that the project's files require, each with the file."""
    project = files.pyproject
    lists: list[Any] = [
        table(project, "project").get("dependencies"),
        *table(project, "project", "optional-dependencies").values(),
        *table(project, "dependency-groups").values(),
    ]
    names = [entry for found in lists if isinstance(found, list) for entry in found if isinstance(entry, str)]
    names += table(project, "tool", "poetry", "dependencies")
    for group in table(project, "tool", "poetry", "group").values():
        names += table(group, "dependencies") if isinstance(group, dict) else []
    wanted = {_package(name): "pyproject.toml" for name in names}
    for name in ("requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements.txt"):
        for line in files.text(name).splitlines():
            wanted.setdefault(_package(line), name)
    return wanted


def _package(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return found[0].lower() if found else ""
