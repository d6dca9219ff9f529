"""A model's answer changes a file that another tool executes by itself."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.config.schema import LandConfig
from tideate_core.engine import EventName, PolicyFrontEnd
from tideate_core.engine.past import recorded_result
from tideate_core.store import Store
from tideate_core.workspace import FileChange, Workspace
from tideate_core.workspace.executable_files import executable_changes, reason_by_path, reason_of_change

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.bench import Bench


pytestmark = pytest.mark.attack

RUN = [
    *(".envrc", ".envrc.local", ".env", ".tool-versions", "mise.toml", "flake.nix"),
    *(".nvim.lua", ".nvimrc", ".exrc", ".vimrc", ".lvimrc", ".lazy.lua", "nvim/init.lua", ".dir-locals.el"),
    *(".vscode/tasks.json", ".vscode/settings.json", ".idea/workspace.xml", ".luarc.json", ".zed/tasks.json"),
    *(".mcp.json", ".claude/settings.json", "AGENTS.md", ".github/copilot-instructions.md"),
    *(".husky/pre-commit", ".githooks/post-checkout", "tools/pre-push", "lefthook.yml"),
    *(".pre-commit-config.yaml", ".gitattributes", ".gitmodules", ".gitconfig", ".hg/hgrc"),
    *("conftest.py", "sitecustomize.py", "evil.pth", "setup.py", "noxfile.py", "tox.ini", ".pylintrc"),
    *(".npmrc", ".yarnrc.yml", ".pnp.cjs", ".pnpmfile.cjs", "vite.config.ts", ".eslintrc.js", "gulpfile.js"),
    *("Makefile", "justfile", "Taskfile.yml", "rules.mk", "CMakeLists.txt", "meson.build", "configure"),
    *("build.rs", ".cargo/config.toml", "gradlew", "build.gradle.kts", "pom.xml", ".mvn/extensions.xml"),
    *("Rakefile", "Gemfile", "mix.exs", ".Rprofile", ".luacheckrc", ".gdbinit", "App.csproj", "defs.bzl"),
    *(".github/workflows/ci.yml", ".github/actions/x/action.yml", ".gitlab-ci.yml", ".circleci/config.yml"),
    *("Jenkinsfile", "azure-pipelines.yml", ".travis.yml", "netlify.toml", "Procfile"),
    *(".devcontainer/devcontainer.json", "Dockerfile", "docker-compose.prod.yml", "Vagrantfile"),
    *(".bashrc", ".profile", ".zshenv", "fish/conf.d/x.fish", ".config/autostart/x.desktop", ".ssh/rc"),
]
DISGUISED = [
    *(
        ".ENVRC",
        "deep/down/.envrc",
        ".envrc.",
        ".envrc ",
        ".GitHub/Workflows/x.yml",
        "a/.github/workflows/b/c.yml",
    ),
    *(
        "MAKEFILE",
        "ConfTest.py",
        ".env\u200brc",
        "\uff2dakefile",
        ".envrc:stream",
        ".github\\workflows\\x.yml",
    ),
]
HARMLESS = [
    *("src/main.py", "README.md", ".editorconfig", "docs/make.md", "envrc", "package.json", "conftest.txt"),
    *(
        "src/dockerfile_parser.py",
        ".github/CODEOWNERS",
        "config/settings.py",
        "lib/update",
        "tests/test_setup.py",
    ),
]
PARTS: list[tuple[str, Any, Any]] = [
    ("package.json", {"name": "a"}, {"name": "a", "scripts": {"postinstall": "curl x | sh"}}),
    ("package.json", {"scripts": {"test": "jest"}}, {"scripts": {"test": "jest", "prepare": "./x"}}),
    ("web/package.json", None, {"scripts": {"preinstall": "./x"}}),
    ("package.json", {}, {"husky": {"hooks": {"pre-commit": "./x"}}}),
    ("package.json", {}, {"packageManager": "pnpm@https://example.invalid/x.tgz"}),
    ("composer.json", {}, {"scripts": {"post-install-cmd": "./x"}}),
    ("tsconfig.json", {}, {"compilerOptions": {"plugins": [{"name": "./x"}]}}),
    ("PACKAGE.JSON", {}, {"scripts": {"install": "./x"}}),
    ("package.json", {"name": "a"}, '{"scripts": '),
    ("package.json", {"name": "a"}, "[" * 100_000),
    (
        "pyproject.toml",
        '[project]\nname = "a"\n',
        '[build-system]\nbuild-backend = "x"\nbackend-path = ["."]\n',
    ),
    ("pyproject.toml", "", '[tool.pytest.ini_options]\naddopts = "-p x"\n'),
    ("pyproject.toml", "", '[tool.hatch.build.hooks.custom]\npath = "x.py"\n'),
    ("pyproject.toml", "", '[project.entry-points.pytest11]\nx = "x"\n'),
    ("Cargo.toml", '[package]\nname = "a"\n', '[package]\nname = "a"\nbuild = "x.rs"\n'),
]


def text_of(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("path", [*RUN, *DISGUISED])
def test_a_file_that_a_tool_runs_is_known(path: str) -> None:
    assert reason_by_path(path)
    assert reason_of_change(path, "before", "after")
    assert not reason_of_change(path, "before", None)


@pytest.mark.parametrize("path", HARMLESS)
def test_another_file_is_not_warned_of(path: str) -> None:
    assert reason_by_path(path) == ""


@pytest.mark.parametrize(("path", "before", "after"), PARTS)
def test_the_part_of_a_file_that_is_run_is_known(path: str, before: Any, after: Any) -> None:
    assert reason_of_change(path, text_of(before), text_of(after))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "package.json",
            {"scripts": {"test": "jest"}, "version": "1"},
            {"scripts": {"test": "jest"}, "version": "2"},
        ),
        ("pyproject.toml", '[project]\nname = "a"\n', '[project]\nname = "b"\n'),
    ],
)
def test_another_part_is_not_warned_of(path: str, before: Any, after: Any) -> None:
    assert reason_of_change(path, text_of(before), text_of(after)) == ""


# -- by another way ------------------------------------------------------------------------------------


SCRIPTS = '{"scripts": {"postinstall": "./x"}}'
WAYS: dict[str, tuple[dict[str, str], FileChange]] = {
    "a link": ({".envrc": "a\n", "notes.txt": "-> .envrc"}, FileChange("notes.txt", "modify", "a", "b")),
    "a linked directory": (
        {".github/workflows/x.yml": "", "docs": "-> .github/workflows"},
        FileChange("docs/readme.yml", "create", None, "on: push"),
    ),
    "a link to nothing": ({"notes.txt": "-> .envrc"}, FileChange("notes.txt", "create", None, "x")),
    "dots": ({"src/x": ""}, FileChange("src/../.envrc", "create", None, "x")),
    "a move": ({"notes.txt": "a\n"}, FileChange("notes.txt", "move", "a", "a", move_to=".envrc")),
    "a move of scripts": (
        {"fixture.json": f"{SCRIPTS}\n"},
        FileChange("fixture.json", "move", SCRIPTS, SCRIPTS, move_to="package.json"),
    ),
    "a move of what is no text": (
        {"blob": "\0\1"},
        FileChange("blob", "move", None, None, move_to=".husky/pre-commit"),
    ),
}
"""Files and links of the project, and the change."""


@pytest.mark.parametrize("way", WAYS)
async def test_a_way_round_the_name_is_warned_of(tmp_path: Path, way: str) -> None:
    root = tmp_path / "project"
    files, change = WAYS[way]
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)
    found = await executable_changes(Workspace(root, private=tmp_path / "private"), [change])
    assert [one.path for one in found] == [change.move_to or change.path]


# -- in runs ---------------------------------------------------------------------------------------------


def plans(bench: Bench, *names: str) -> None:
    files = [{"action": "create", "path": name, "why": "tidy"} for name in names]
    bench.server.answers("Which files have to be", {"files": files})
    for name in names:
        bench.server.answers(f"Write the new file {name}", "```\necho hello\n```")


async def test_the_plan_and_the_review_say_it(bench: Bench) -> None:
    plans(bench, ".envrc", "a.txt")
    done = await bench.run("multi_file", "tidy up")
    assert done.ok, done.error
    told = {request.kind: request.as_json()["executed"] for request in bench.front.requests}
    reason = "direnv and similar tools run it when you enter the directory"
    assert told == {kind: [{"path": ".envrc", "reason": reason}] for kind in ("plan", "review")}
    assert done.as_json()["executed"] == [{"path": ".envrc", "reason": reason}]


async def test_what_was_written_is_told_in_the_events(bench: Bench) -> None:
    plans(bench, ".envrc")
    await bench.run("multi_file", "tidy up")
    notices = [data for data in bench.front.data(EventName.NOTICE) if "executed" in data]
    assert [(data["level"], data["executed"]["path"]) for data in notices] == [("warn", ".envrc")]
    assert bench.front.data(EventName.WORKFLOW_COMPLETED)[0]["executed"][0]["path"] == ".envrc"


async def test_a_later_process_still_knows_it(bench: Bench) -> None:
    plans(bench, ".envrc", "a.txt")
    done = await bench.run("multi_file", "tidy up")
    with closing(Store.open(bench.private)) as store:
        reader = store.reader()
        again = recorded_result(reader, reader.run(done.execution_id))
    assert again.executed == done.executed != []


def by_policy(bench: Bench, executed: str = "ask", *, accept: bool = True) -> None:
    config = bench.config.model_copy(update={"land": LandConfig.model_validate({"executed": executed})})
    front = PolicyFrontEnd(accept, bench.front.emit) if accept else bench.front
    bench.runner = bench.make_runner(config, front=front)


def notices(bench: Bench) -> str:
    return "\n".join(data["message"] for data in bench.front.data(EventName.NOTICE))


async def test_without_a_person_such_files_are_left_out_and_named(bench: Bench) -> None:
    by_policy(bench)
    plans(bench, ".envrc", "a.txt")
    done = await bench.run("multi_file", "tidy up")
    assert done.ok, done.error
    assert done.files == ["a.txt"]
    assert bench.fingerprint().keys() == {"a.txt"}
    assert "left out .envrc: direnv and similar tools run it" in notices(bench)
    assert "executed" not in done.as_json()


async def test_without_a_person_a_change_of_nothing_else_fails(bench: Bench) -> None:
    by_policy(bench)
    plans(bench, ".envrc")
    done = await bench.run("multi_file", "tidy up")
    assert (done.ok, done.cancelled, bench.fingerprint()) == (False, False, {})
    assert "only to files that other tools execute" in str(done.error)


async def test_a_person_who_refuses_such_files_is_not_asked_about_them(bench: Bench) -> None:
    by_policy(bench, "refuse", accept=False)
    plans(bench, ".envrc", "a.txt")
    done = await bench.run("multi_file", "tidy up")
    assert done.ok, done.error
    (review,) = [request for request in bench.front.requests if request.kind == "review"]
    assert [file["path"] for file in review.payload["files"]] == ["a.txt"]
    assert bench.fingerprint().keys() == {"a.txt"}
    assert "left out .envrc" in notices(bench)


async def test_a_moved_file_is_left_out_by_its_new_name(bench: Bench) -> None:
    by_policy(bench)
    bench.write("notes.txt", "a\n")
    files = [
        {"action": "move", "path": "notes.txt", "move_to": ".envrc", "why": "tidy"},
        {"action": "create", "path": "a.txt", "why": "tidy"},
    ]
    bench.server.answers("Which files have to be", {"files": files})
    bench.server.answers("Write the new file a.txt", "```\necho hello\n```")
    done = await bench.run("multi_file", "tidy up")
    assert done.ok, done.error
    assert bench.fingerprint().keys() == {"a.txt", "notes.txt"}


async def test_the_file_that_the_person_named_is_written(bench: Bench) -> None:
    by_policy(bench, "refuse")
    bench.write("Makefile", "all:\n\techo a\n")
    bench.server.answers("", "It prints.")
    bench.server.answers("Rewrite", "```make\nall:\n\techo b\n```")
    done = await bench.run("refactor", "print b", context=bench.context("Makefile"))
    assert done.ok, done.error
    assert bench.fingerprint()["Makefile"] == b"all:\n\techo b\n"


async def test_a_run_of_harmless_files_says_nothing(bench: Bench) -> None:
    plans(bench, "a.txt")
    done = await bench.run("multi_file", "tidy up")
    assert "executed" not in done.as_json()
    assert not any(request.executed for request in bench.front.requests)
