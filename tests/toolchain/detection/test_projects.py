"""Detection of tools by files, and in twelve kinds of projects compared with their CI."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.toolchain.detection.projects import commands, make
from tideate_core.project import project_state

if TYPE_CHECKING:
    from pathlib import Path


class Project(NamedTuple):
    """A project's files, its CI's commands, and the detected commands; ``OUT`` is the output directory."""

    files: dict[str, str]
    ci: str
    detected: dict[str, str]
    programs: tuple[str, ...] = ()


PYTHON = Project(
    {
        "pyproject.toml": '[project]\nname = "calc"\n[dependency-groups]\ndev = ["pytest", "mypy", "ruff"]\n'
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n',
        "tests/test_calc.py": "",
        "mkdocs.yml": "",
    },
    "ruff check .\nmypy .\npytest\npython -m build\nmkdocs build --strict",
    {
        "type_check": "mypy --no-color-output --show-column-numbers --no-pretty --no-error-summary .",
        "lint": "ruff check --no-fix --output-format=concise .",
        "tests": "pytest -q --tb=short -rfE --color=no",
        "build": "pyproject-build --wheel --outdir OUT/dist",
        "documentation": "mkdocs build --strict --quiet --site-dir OUT/site",
    },
)
DJANGO = Project(
    {
        "manage.py": "import os\nfrom django.core.management import execute\n",
        "shop/tests.py": "",
        "tox.ini": "[flake8]\n",
    },
    "flake8\npython manage.py test\npython manage.py check",
    {"lint": "flake8 .", "tests": "python3 manage.py test"},
)
NODE = Project(
    {
        "package.json": '{"scripts": {"build": "vite build", "lint": "eslint .", "test": "vitest run", '
        '"typecheck": '
        '"tsc --noEmit", "docs": "vitepress dev docs", "docs:build": "vitepress build docs"}}',
        "package-lock.json": "{}",
    },
    "npm ci\nnpm run lint\nnpm run typecheck\nnpm test\nnpm run build\nnpm run docs:build",
    {
        "type_check": "npm run typecheck",
        "lint": "npm run lint",
        "tests": "npm run test",
        "build": "npm run build",
        "documentation": "npm run docs:build",
    },
)
RUST = Project(
    {
        "Cargo.toml": '[package]\nname = "a"\n[workspace]\nmembers = ["b"]\n',
        "b/Cargo.toml": '[package]\nname = "b"\n',
        "rustfmt.toml": "",
    },
    "cargo fmt --all --check\ncargo clippy --workspace -- -D warnings\ncargo test --workspace\n"
    "cargo doc --workspace",
    {
        "type_check": "cargo check --color never --workspace --all-targets",
        "lint": "cargo fmt --all --check & cargo clippy --workspace -- -D warnings",
        "tests": "cargo test --color never --workspace",
        "build": "cargo build --color never --workspace",
        "documentation": "cargo doc --color never --workspace --no-deps",
    },
)
GO = Project(
    {"go.mod": "module example.com/a\n", ".golangci.yml": "", "a.go": "package a\n"},
    "golangci-lint run\ngo vet ./...\ngo build ./...\ngo test -race ./...",
    {
        "type_check": "go vet ./...",
        "lint": "golangci-lint run",
        "tests": "go test ./...",
        "build": "go build -o /dev/null ./...",
    },
)
CMAKE = Project(
    {"CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(a C)\nenable_testing()\n", "a.c": ""},
    "cmake -S . -B build\ncmake --build build\nctest --test-dir build --output-on-failure",
    {
        "build": "ctest --build-and-test . OUT/cmake --build-generator Unix Makefiles",
        "tests": "ctest --test-dir OUT/cmake --output-on-failure --no-tests=error",
    },
)
MAVEN = Project(
    {"pom.xml": "<project><artifactId>maven-checkstyle-plugin</artifactId></project>"},
    "./mvnw --batch-mode verify",
    {
        "type_check": "./mvnw -B -q test-compile",
        "lint": "./mvnw -B checkstyle:check",
        "tests": "./mvnw -B test",
        "build": "./mvnw -B -DskipTests package",
    },
    ("mvnw",),
)
GRADLE = Project(
    {
        "settings.gradle.kts": 'include("app")\n',
        "build.gradle.kts": "plugins { java }\n",
        "app/build.gradle.kts": "",
    },
    "./gradlew build",
    {
        "type_check": "./gradlew --console=plain testClasses",
        "tests": "./gradlew --console=plain test",
        "build": "./gradlew --console=plain assemble",
    },
    ("gradlew",),
)
RUBY = Project(
    {
        "Gemfile": 'gem "minitest"\n',
        "a.gemspec": "",
        "Rakefile": 'require "minitest/test_task"\nMinitest::TestTask.create\ntask default: %i[test]\n',
        ".rubocop.yml": "",
    },
    "bundle exec rake",
    {
        "lint": "bundle exec rubocop",
        "tests": "bundle exec rake test",
        "build": "gem build a.gemspec --output OUT.gem",
    },
)
ELIXIR = Project(
    {"mix.exs": "defp deps, do: [{:credo, []}, {:ex_doc, []}]\n", ".formatter.exs": ""},
    "mix deps.get\nmix format --check-formatted\nmix credo\nmix test",
    {
        "lint": "mix credo & mix format --check-formatted",
        "tests": "mix test",
        "build": "mix compile",
        "documentation": "mix docs --output OUT/docs",
    },
)
NEOVIM = Project(
    {
        "stylua.toml": "",
        ".luacheckrc": "",
        "tests/minimal_init.lua": "vim.opt.rtp:append('../plenary.nvim')\n",
        "lua/a/init.lua": "",
        "Makefile": ".PHONY: test docs\ntest docs:\n\techo\n",
    },
    "stylua --check lua\nluacheck lua\nmake test",
    {
        "lint": "luacheck . & stylua --check .",
        "tests": "nvim --headless --noplugin -u tests/minimal_init.lua -c PlenaryBustedDirectory tests/ "
        "{minimal_init = 'tests/minimal_init.lua'}",
        "documentation": "make docs",
    },
)
PHP = Project(
    {
        "composer.json": '{\n  "scripts": {\n    "build": "x"\n  }\n}',
        "phpunit.xml.dist": "",
        "phpstan.neon": "",
        "phpcs.xml": "",
    },
    "composer validate --strict\nvendor/bin/phpstan analyse\nvendor/bin/phpunit",
    {
        "type_check": "vendor/bin/phpstan analyse --no-progress --error-format=raw",
        "lint": "vendor/bin/phpcs -q",
        "tests": "vendor/bin/phpunit",
        "build": "composer validate --no-interaction",
    },
)
PROJECTS = {
    "python": PYTHON,
    "django": DJANGO,
    "node": NODE,
    "rust": RUST,
    "go": GO,
    "cmake": CMAKE,
    "maven": MAVEN,
    "gradle": GRADLE,
    "ruby": RUBY,
    "elixir": ELIXIR,
    "neovim": NEOVIM,
    "php": PHP,
}


def workflow(ci: str) -> str:
    steps = "".join(f"      - run: {line}\n" for line in ci.splitlines())
    return f"on: push\njobs:\n  check:\n    runs-on: ubuntu-latest\n    steps:\n{steps}"


@pytest.mark.parametrize("name", PROJECTS)
def test_the_checks_of_a_kind_of_project_are_those_of_its_ci(tmp_path: Path, name: str) -> None:
    project = PROJECTS[name]
    make(tmp_path, {**project.files, ".github/workflows/ci.yml": workflow(project.ci)}, *project.programs)
    out = str(project_state(tmp_path) / "scratch")
    found = {check: command.replace(out, "OUT") for check, command in commands(tmp_path).items()}
    assert found == project.detected


@pytest.mark.parametrize(
    ("files", "detected"),
    [
        (
            {"noxfile.py": "import nox\n\n@nox.session(python=['3.12'])\ndef tests(s):\n    s.run()\n"},
            {"tests": "nox -s tests"},
        ),
        ({"tox.ini": "[tox]\n[testenv]\n[testenv:lint]\n"}, {"tests": "tox -e py", "lint": "tox -e lint"}),
        (
            {"tasks.py": "from invoke import task\n@task\ndef type_check(c):\n    c.run('x')\n"},
            {"type_check": "invoke type-check"},
        ),
        (
            {"justfile": "test *args:\n    cargo test\n\nlint: fmt\n    x\n"},
            {"tests": "just test", "lint": "just lint"},
        ),
        (
            {"Taskfile.yml": "version: '3'\ntasks:\n  test:\n    cmds: [x]\n  build: y\n"},
            {"tests": "task test", "build": "task build"},
        ),
        (
            {"Rakefile": "require 'rspec/core/rake_task'\nRSpec::Core::RakeTask.new(:spec)\n"},
            {"tests": "rake spec"},
        ),
        ({".rspec": "", "Gemfile": ""}, {"tests": "bundle exec rspec"}),
        ({"bin/rails": "", "Gemfile": ""}, {"tests": "bin/rails test"}),
        ({".busted": ""}, {"tests": "busted"}),
        ({"sub/a_spec.lua": "", "a-1.rockspec": ""}, {"tests": "busted"}),
        (
            {"scripts/minimal_init.lua": "require('mini.test').setup()\n"},
            {"tests": "nvim --headless --noplugin -u scripts/minimal_init.lua -c lua MiniTest.run()"},
        ),
        (
            {"deno.json": '{\n  "tasks": {\n    "build": "x"\n  }\n}'},
            {"lint": "deno lint", "tests": "deno test", "build": "deno task build"},
        ),
        (
            {"composer.json": '{"a": 1,\n  "scripts": {\n    "test": ["x"]\n  }}'},
            {"build": "composer validate --no-interaction", "tests": "composer run-script test"},
        ),
        ({"biome.json": ""}, {"lint": "npx --no-install biome ci ."}),
        (
            {"Makefile": "include mk/*.mk\n", "mk/a.mk": "test lint: deps\n\tx\n"},
            {"tests": "make test", "lint": "make lint"},
        ),
        ({"Makefile": "include ../b.mk /etc/c.mk\n"}, {}),
        (
            {"package.json": "{}", "pyproject.toml": "[tool.pytest.ini_options]\n", "go.mod": ""},
            {
                "type_check": "go vet ./...",
                "tests": "pytest -q --tb=short -rfE --color=no & go test ./...",
                "build": "go build -o /dev/null ./...",
            },
        ),
        (
            {"go.work": "go 1.22\nuse (\n\t./a // x\n\t./b\n)\n", "a/go.mod": "", "b/go.mod": ""},
            {
                "type_check": "go vet ./a/... ./b/...",
                "tests": "go test ./a/... ./b/...",
                "build": "go build -o /dev/null ./a/... ./b/...",
            },
        ),
    ],
)
def test_a_row_of_the_tables_gives_a_command(
    tmp_path: Path, files: dict[str, str], detected: dict[str, str]
) -> None:
    assert commands(make(tmp_path, files)) == detected


@pytest.mark.parametrize(
    ("files", "check", "command"),
    [
        ({"setup.cfg": "[mypy]\nfiles = src\n"}, "type_check", "mypy --no-color"),
        ({"setup.cfg": "[flake8]\n"}, "lint", "flake8 ."),
        ({"setup.cfg": "[tool:pytest]\n"}, "tests", "pytest -q"),
        ({"tox.ini": "[pytest]\n"}, "tests", "pytest -q"),
        ({"pyproject.toml": "", "pyrightconfig.json": "{}"}, "type_check", "pyright"),
        ({"pyproject.toml": '[project]\ndependencies = ["ruff>=0.5"]\n'}, "lint", "ruff check"),
        (
            {"pyproject.toml": '[dependency-groups]\ndev = ["pytest", {include-group = "x"}]\n'},
            "tests",
            "pytest",
        ),
        ({"pyproject.toml": '[tool.poetry.group.dev.dependencies]\nmypy = "*"\n'}, "type_check", "mypy"),
        ({"setup.py": "", "requirements-dev.txt": "pytest==8\n"}, "tests", "pytest"),
        ({"setup.py": "", "tests/__init__.py": ""}, "tests", "python3 -m unittest discover -s tests -t ."),
        ({"setup.py": "", "tests/test_a.py": ""}, "tests", "python3 -m unittest discover -s tests"),
        ({"setup.py": "", "docs/conf.py": ""}, "documentation", "sphinx-build -W"),
        ({"Cargo.toml": ""}, "tests", "cargo test --color never"),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, "tests", "pnpm run test"),
        (
            {"package.json": '{"scripts": {"build": "x"}, "packageManager": "yarn@4"}'},
            "build",
            "yarn run build",
        ),
    ],
)
def test_a_file_of_the_project_gives_a_command(
    tmp_path: Path, files: dict[str, str], check: str, command: str
) -> None:
    assert commands(make(tmp_path, files))[check].startswith(command)


@pytest.mark.parametrize(
    ("files", "check"),
    [
        ({}, "tests"),
        ({"pyproject.toml": "[project]\n"}, "build"),
        ({"pyproject.toml": "[project]\n"}, "documentation"),
        ({"pyproject.toml": "[tool.mypy"}, "type_check"),
        ({"pyproject.toml": "tool = 3\nproject = []\n"}, "type_check"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, "tests"),
        ({"package.json": "[]"}, "tests"),
        ({"package.json": '{"scripts": [1]}'}, "tests"),
        ({"package.json": "{" * 100_000}, "tests"),
        ({"Makefile": "test := a\nlint = b\n"}, "tests"),
        ({"setup.cfg": "no section\n"}, "lint"),
        ({"go.mod": ""}, "lint"),
    ],
)
def test_what_no_file_says_is_not_guessed(tmp_path: Path, files: dict[str, str], check: str) -> None:
    assert check not in commands(make(tmp_path, files))
