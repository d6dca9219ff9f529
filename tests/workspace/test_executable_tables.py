"""Every name and pattern of the table matches once."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tideate_core import workspace
from tideate_core.workspace.executable_files import reason_by_path, reason_of_change

DATA: dict[str, Any] = tomllib.loads(
    (Path(workspace.__file__).parent / "executed_files.toml").read_text("utf-8")
)
FILES = [(group["reason"], name) for group in DATA["files"] for name in group["names"].split()]


def example(pattern: str) -> str:
    below = "/a" if pattern.endswith("/**") else ""
    return pattern.strip("/").removesuffix("/**").replace("*", "some") + below


def test_every_pattern_finds_a_path_of_its_form() -> None:
    for _, pattern in FILES:
        assert reason_by_path(example(pattern)), pattern
        if not pattern.startswith("/"):
            assert reason_by_path(f"deep/{example(pattern)}"), pattern


def test_no_pattern_stands_twice() -> None:
    counts = Counter(pattern.casefold() for _, pattern in FILES)
    assert [pattern for pattern, count in counts.items() if count > 1] == []


def test_inert_names_do_not_count() -> None:
    for pattern in DATA["inert"]["names"].split():
        assert reason_by_path(example(pattern)) == "", pattern


@pytest.mark.parametrize("name", [name for part in DATA["parts"] for name in part["names"].split()])
def test_a_file_with_parts_counts_by_these_alone(name: str) -> None:
    assert reason_by_path(example(name)) == ""
    assert reason_of_change(example(name), "", "no such text: {") != ""


def test_each_key_of_a_part_counts() -> None:
    for part in DATA["parts"]:
        if part["format"] == "json":
            for key in part["keys"]:
                text = '"x"'
                for name in reversed(key.split(".")):
                    text = f'{{"{name}": {text}}}'
                assert reason_of_change(example(part["names"].split()[0]), "{}", text), key


# top-level names of a project, by the kind of tool that loads them
KINDS = {
    "editors": """
        .helix/languages.toml .nvim.lua .projections.json .vimspector.json coc-settings.json
        .kakrc .sublime-project .dir-locals.el pyrightconfig.json .clangd .nova/Tasks/a.json
    """,
    "linters": """
        .stylelintrc.json .golangci.yml .pre-commit-config.yaml .tflint.hcl .swiftlint.yml
        phpstan.neon .credo.exs .ansible-lint ruff.toml selene.toml .markdownlint-cli2.jsonc
        biome.json .hlint.yaml
    """,
    "bundlers": """
        webpack.dev.js .parcelrc turbo.json nx.json angular.json rollup.config.mjs
        .storybook/main.ts ember-cli-build.js gatsby-node.js craco.config.js esbuild.mjs
    """,
    "builds": """
        conanfile.py build.zig BUILD.gn Tupfile project.clj Snakefile Makefile.toml Jamroot
        pubspec.yaml magefile.go .bazelrc.user pants.toml shard.yml Directory.Build.props
    """,
    "continuous integration": """
        .gitlab-ci.yml bitrise.yml .zuul.d/a.yaml codeship-steps.yml .packit.yaml
        .tekton/push.yaml .mergify.yml buildspec.yml .onedev-buildspec.yml shippable.yml
    """,
    "tools of later years": """
        .newtoolrc .newtool.yaml .newtool/hooks/run newtool.toml newtool.config.ts
        .config/newtool/config newtool.yml Newtoolfile
    """,
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_tool_loads_by_its_name_counts(kind: str) -> None:
    assert [name for name in KINDS[kind].split() if not reason_by_path(name)] == []


INERT = """
    src/app.py src/settings.toml data/rows.yaml docs/guide.md README.md LICENSE main.go tests/test_file.py
    src/profile.ts lib/tasks.py openapi.yaml CHANGELOG.md package-lock.json .gitignore .editorconfig uv.lock
    src/config/index.ts app/models/file.rb po/de.po web/public/index.html a/b/data.ini
"""


@pytest.mark.parametrize(
    "path",
    INERT.split(),
)
def test_sources_and_data_do_not_count(path: str) -> None:
    assert reason_by_path(path) == ""


def test_other_settings_of_pyproject_do_not_count() -> None:
    before = '[project]\nname = "a"\n[tool.poetry]\nversion = "1"\n'
    after = '[project]\nname = "a"\n[tool.ruff]\nline-length = 9\n[tool.poetry]\nversion = "2"\n'
    assert reason_of_change("pyproject.toml", before, after) == ""
    assert reason_of_change("pyproject.toml", before, '[tool.sometool]\nhook = "x"\n')
    assert reason_of_change("pyproject.toml", before, '[tool.poetry.build]\nscript = "x"\n')


@pytest.mark.parametrize("name", ["src/build.py", "lib/build.ts", "src/build.go"])
def test_a_source_file_called_build_does_not_count(name: str) -> None:
    assert reason_by_path(name) == ""
