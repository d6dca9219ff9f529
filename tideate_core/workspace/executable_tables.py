"""Tables of the files that other tools execute by themselves, each with who runs it and when."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["EXECUTED_PARTS", "EXECUTED_PATHS", "ExecutedPart"]


@dataclass(frozen=True, slots=True)
class ExecutedPart:
    """Part of a file that is executed: values of keys, each a path of names."""

    reason: str
    parse: Callable[[str], Any]
    keys: tuple[tuple[str, ...], ...]


EXECUTED_PATHS: Final[Mapping[str, str]] = {
    # entering a directory
    "direnv and its like run it when you enter the directory": """
        .envrc .envrc.* .env.sh .autoenv .autoenv.* .autoenv.zsh
    """,
    "mise and asdf install what it names and run its hooks when you enter the directory": """
        .tool-versions mise.toml mise.*.toml .mise.toml .mise.*.toml .mise/** mise/** .rtx.toml .asdfrc
    """,
    "the shell of the project is made by it": """
        devbox.json devenv.nix flake.nix shell.nix default.nix .pkgx.yaml
    """,
    "it is not run, but its variables reach the programs that read it": """
        .env .env.*
    """,
    # editors
    "Neovim and its plugins run it when you start in the directory": """
        .nvim.lua .nvimrc .exrc _exrc .lvimrc .local.vimrc .vimrc .gvimrc _vimrc .lazy.lua .nvim/** .vim/**
    """,
    "Neovim runs it when it starts, where this is its configuration": """
        nvim/init.lua nvim/init.vim nvim/lua/** nvim/plugin/** nvim/after/** nvim/ftplugin/**
    """,
    "Emacs runs it when you open a file of the directory": """
        .dir-locals.el .dir-locals-2.el .emacs .emacs.d/** .doom.d/**
    """,
    "the editor runs tasks, tools and language servers that it names": """
        .vscode/** *.code-workspace .cursor/** .zed/** .fleet/** .idea/** *.iml *.sublime-project .kakrc
        .helix/**
    """,
    "a language server runs the plugins that it names when you open a file": """
        .luarc.json .luarc.jsonc .ycm_extra_conf.py .neoconf.json
    """,
    # agents
    "coding agents run the hooks and servers that it names": """
        .mcp.json .claude/** .codex/** .gemini/** .opencode/** opencode.json .aider.conf.yml .windsurf/**
        .continue/** .roo/** .amazonq/**
    """,
    "coding agents follow it as instructions": """
        AGENTS.md CLAUDE.md GEMINI.md .cursorrules .windsurfrules .github/copilot-instructions.md
    """,
    # version control
    "git runs it as a hook, when you commit, check out or push": """
        applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit
        p4-prepare-changelist post-applypatch post-checkout post-commit post-index-change post-merge
        post-rewrite pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase
        prepare-commit-msg reference-transaction sendemail-validate .githooks/** .git-hooks/** .husky/**
        .huskyrc* .overcommit.yml .git_hooks/**
    """,
    "its hooks run when you commit": """
        .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.* lefthook-local.*
        .lefthook.* .lefthook/** .lintstagedrc* lint-staged.config.*
    """,
    "git runs the filters, diff and merge drivers that it names": """
        .gitattributes
    """,
    "git fetches repositories from where it says, and runs their filters": """
        .gitmodules
    """,
    "version control runs commands that it names": """
        .gitconfig .lfsconfig .config/git/** .hgrc .hg/** .jj/** .svn/** .bzr/**
    """,
    # Python
    "pytest runs it whenever tests are collected": """
        conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml
    """,
    "every Python that finds it runs it when it starts": """
        sitecustomize.py usercustomize.py *.pth *.egg-link
    """,
    "pip runs it when the project is built or installed": """
        setup.py setup.cfg hatch_build.py
    """,
    "it says what the test runner runs": """
        noxfile.py tox.ini tox.toml fabfile.py dodo.py
    """,
    "the Python tool runs the code or plugins that it names": """
        .pylintrc pylintrc .flake8 mypy.ini .mypy.ini .pdbrc .pythonrc .pythonrc.py
    """,
    # JavaScript
    "the package manager runs or obeys it at every command": """
        .npmrc .yarnrc .yarnrc.* .yarn/** .pnpmfile.* .pnp.* pnpm-workspace.yaml bunfig.toml
    """,
    "npm builds it when the package is installed": """
        binding.gyp
    """,
    "linters, test runners and language servers run it when they start": """
        *.config.js *.config.cjs *.config.mjs *.config.ts *.config.cts *.config.mts *.config.jsx
        *.config.tsx .*rc.js .*rc.cjs .*rc.mjs .*rc.ts .eslintrc .eslintrc.* .babelrc .babelrc.* .swcrc
        karma.conf.* gulpfile.* Gruntfile.* Jakefile
    """,
    # builds
    "make and its like run the commands in it": """
        Makefile *.mk *.mak GNUmakefile BSDmakefile justfile .justfile *.just Taskfile.* Makefile.*
        Earthfile Tiltfile
    """,
    "it runs when the build is configured, by an editor also": """
        CMakeLists.txt *.cmake CMakePresets.json CMakeUserPresets.json meson.build meson_options.txt
        SConstruct SConscript wscript configure configure.ac configure.in Makefile.am build.ninja
        premake5.lua xmake.lua
    """,
    "cargo runs or obeys it at every build, by a language server also": """
        build.rs .cargo/** rust-toolchain rust-toolchain.toml
    """,
    "Gradle runs it at every build, and when an editor opens the project": """
        gradlew gradlew.bat build.gradle* settings.gradle* init.gradle* gradle/** gradle.properties *.gradle
        *.gradle.kts buildSrc/**
    """,
    "the build runs it, and an editor that opens the project": """
        mvnw mvnw.cmd pom.xml .mvn/** build.xml build.sbt *.sbt .sbtopts .jvmopts build.sc build.mill
        .scalafix.conf WORKSPACE WORKSPACE.bazel MODULE.bazel BUILD BUILD.bazel *.bzl .bazelrc .buckconfig
        BUCK Directory.Build.* *.csproj *.fsproj *.vbproj *.targets *.props *.sln nuget.config global.json
    """,
    "Ruby's tools run it when they start": """
        Rakefile Gemfile *.gemspec .rspec .rubocop.yml Guardfile Capfile Podfile *.podspec Fastfile .irbrc
        .pryrc
    """,
    "the language's tools run it when they start or build": """
        mix.exs .formatter.exs .iex.exs rebar.config rebar.config.script config/*.exs Setup.hs .ghci
        stack.yaml .ocamlinit dune dune-project Package.swift .Rprofile .Renviron startup.jl deps/build.jl
    """,
    "the language's tools run it when they start": """
        .luacheckrc .busted *.rockspec .php-cs-fixer.php .php-cs-fixer.dist.php phpunit.xml phpunit.xml.dist
        rector.php Makefile.PL Build.PL dist.ini .perlcriticrc
    """,
    "the program of that name runs commands in it when it starts": """
        .gdbinit .lldbinit .sqliterc .psqlrc .my.cnf .screenrc .tmux.conf ansible.cfg .terraformrc
    """,
    # services
    "CI runs it when it is pushed, with the secrets of the project": """
        .github/workflows/** .github/actions/** action.yml action.yaml .gitlab-ci.yml .gitlab-ci.yaml
        .circleci/** .gitlab/ci/** .gitea/workflows/** .forgejo/workflows/** Jenkinsfile Jenkinsfile.*
        *.jenkinsfile azure-pipelines.yml azure-pipelines*.yml .azure-pipelines/** .azuredevops/**
        .travis.yml appveyor.yml .appveyor.yml .drone.yml .drone.star .woodpecker.yml .woodpecker/**
        bitbucket-pipelines.yml .buildkite/** cloudbuild.yaml cloudbuild.yml .cirrus.yml .cirrus.star
        .semaphore/** .builds/** .build.yml .teamcity/** codemagic.yaml wercker.yml buildspec.yml
    """,
    "the hosting service runs it when it is pushed": """
        netlify.toml vercel.json render.yaml Procfile Procfile.* app.json fly.toml heroku.yml now.json
    """,
    # containers and machines
    "the editor builds and runs it when it opens the project": """
        .devcontainer/** .devcontainer.json .gitpod.yml .gitpod.Dockerfile .replit .idx/** .codesandbox/**
    """,
    "docker runs the commands in it": """
        Dockerfile Dockerfile.* *.dockerfile Containerfile Containerfile.* docker-compose*.yml
        docker-compose*.yaml compose.yml compose.yaml compose.*.yml compose.*.yaml docker-bake.hcl
    """,
    "it says what the machine runs": """
        Vagrantfile skaffold.yaml devspace.yaml cloud-init.yaml user-data
    """,
    # a home
    "your shell or session runs it when it starts": """
        .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
        .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout config.fish fish/conf.d/**
        fish/functions/** .oh-my-zsh/** .xinitrc .xprofile .xsession .xsessionrc .pam_environment
    """,
    "the session runs commands that it names": """
        .ssh/** .config/autostart/** .config/systemd/** .config/environment.d/** LaunchAgents/** crontab
        *.cron
    """,
}
"""By who runs it and when: names and patterns of paths, `*` within a name and `/**` for all below; case and
depth do not matter. `.git` and `.tideate` are not in it: they are never written."""

_HOOKS: Final = (
    *(("scripts",), ("husky",), ("lint-staged",), ("simple-git-hooks",), ("gitHooks",), ("pre-commit",)),
    *(("packageManager",), ("gypfile",), ("workspaces",), ("eslintConfig",), ("babel",), ("jest",)),
    *(("prettier",), ("stylelint",), ("postcss",), ("ava",), ("mocha",)),
)
_PYTHON: Final = (
    *(("build-system",), ("project", "entry-points"), ("tool", "pytest"), ("tool", "hatch")),
    *(("tool", "setuptools"), ("tool", "pdm"), ("tool", "poetry", "build"), ("tool", "tox"), ("tool", "poe")),
    *(("tool", "poetry", "plugins"), ("tool", "scikit-build"), ("tool", "mypy"), ("tool", "pylint")),
    *(("tool", "maturin"), ("tool", "meson-python"), ("tool", "taskipy"), ("tool", "uv"), ("tool", "pixi")),
)

EXECUTED_PARTS: Final[Mapping[str, ExecutedPart]] = {
    "package.json": ExecutedPart("npm runs its scripts and hooks, some at every install", json.loads, _HOOKS),
    "composer.json": ExecutedPart(
        "composer runs its scripts and plugins at every install", json.loads, (("scripts",), ("config",))
    ),
    "deno.json": ExecutedPart("deno runs its tasks", json.loads, (("tasks",), ("lint",))),
    "tsconfig.json": ExecutedPart(
        "the language server runs the plugins that it names", json.loads, (("compilerOptions", "plugins"),)
    ),
    "pyproject.toml": ExecutedPart(
        "pip, pytest and other tools run what it names as build, plugin or task", tomllib.loads, _PYTHON
    ),
    "cargo.toml": ExecutedPart(
        "cargo runs the build script and macros that it names, by a language server also",
        tomllib.loads,
        (("package", "build"), ("lib", "proc-macro"), ("lib", "proc_macro"), ("build-dependencies",)),
    ),
}
"""By a file's plain name."""
