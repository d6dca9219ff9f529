"""Languages by file name, editor filetype and code fence tag; detection of test files."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import PurePath
from typing import Final, NamedTuple

_TEST: Final = re.compile(
    r"(?i)(?:^|/)(?:tests?|spec|__tests__)(?:/|$)|(?:^|/)test[^/]*$|[._-](?:test|spec)s?\."
)

_COMMENTED: Final = re.compile(
    r"(?:^|/)(?:\.(?:vscode|zed|devcontainer)/(?:[^/]+/)?[^/]+|(?:tsconfig|jsconfig)[^/]*|\.?devcontainer"
    r"|\.(?:eslintrc|babelrc|luarc|oxlintrc|markdownlint|mocharc|stylelintrc|jscsrc)"
    r"|babel\.config|tslint|api-extractor[^/]*|deno|wrangler|turbo|nx|pyrightconfig|biome|rush|typedoc|knip"
    r"|\.?cspell|language-configuration|basedpyrightconfig|lerna|launchSettings)\.json$"
)
"""JSON files that tools read with comments and trailing commas."""


class _Row(NamedTuple):
    tags: str
    """Filetypes and fence tags, besides the name."""
    extensions: str
    files: str = ""
    family: str = ""
    """Group of languages that fence tags confuse; the name if empty."""


_TABLE: dict[str, _Row] = {
    "python": _Row("py python3 python2 py3 pyi pycon", "py pyi pyw", "SConstruct", "python"),
    "javascript": _Row("js javascriptreact jsx mjs cjs node ecmascript", "js mjs cjs jsx", family="script"),
    "typescript": _Row("ts mts cts", "ts mts cts", family="script"),
    "tsx": _Row("typescriptreact", "tsx", family="script"),
    "json": _Row(
        "geojson ipynb",
        "json webmanifest ipynb geojson topojson jsonld har sarif avsc gltf arb mcmeta importmap",
        "composer.lock flake.lock Pipfile.lock",
        "json",
    ),
    "jsonc": _Row(
        "json5 jsonl",
        "jsonc json5 jsonl ndjson hjson code-workspace code-snippets sublime-project sublime-settings "
        "sublime-keymap",
        "tsconfig.json jsconfig.json .babelrc .eslintrc .swcrc .jshintrc .hintrc .stylelintrc .nycrc "
        "bun.lock",
        "json",
    ),
    "yaml": _Row("yml", "yaml yml cff", ".clang-format .clang-tidy .clangd .prettierrc .yamllint"),
    "toml": _Row("", "toml", "Pipfile Cargo.lock poetry.lock uv.lock pdm.lock"),
    "go": _Row("golang", "go"),
    "rust": _Row("rs", "rs"),
    "java": _Row("", "java"),
    "kotlin": _Row("kt kts", "kt kts"),
    "scala": _Row("sc", "scala sc sbt"),
    "swift": _Row("", "swift"),
    "csharp": _Row("cs c#", "cs csx"),
    "c": _Row("h", "c h", family="c"),
    "cpp": _Row("c++ cc cxx hpp cuda arduino objc objcpp", "cpp cc cxx hpp hh hxx cu ino", family="c"),
    "lua": _Row("luau", "lua rockspec", ".luacheckrc"),
    "ruby": _Row("rb", "rb rake gemspec", "Rakefile Gemfile"),
    "php": _Row("", "php phtml"),
    "elixir": _Row("ex exs", "ex exs"),
    "haskell": _Row("hs", "hs"),
    "nix": _Row("", "nix"),
    "hcl": _Row("terraform tf terraform-vars", "tf hcl tfvars"),
    "solidity": _Row("sol", "sol"),
    "bash": _Row("sh shell", "sh bash", ".bashrc .profile PKGBUILD", "shell"),
    "zsh": _Row("ksh", "zsh", ".zshrc", "shell"),
    "fish": _Row("", "fish", family="shell"),
    "console": _Row(
        "shell-session shellsession sh-session terminal cmd bat powershell ps1", "", family="shell"
    ),
    "html": _Row("htm xhtml html5", "html htm xhtml", family="markup"),
    "vue": _Row("", "vue", family="markup"),
    "svelte": _Row("", "svelte", family="markup"),
    "xml": _Row(
        "svg xsd xsl",
        "xml svg xsd xsl xslt plist rss atom csproj fsproj vbproj resx xaml storyboard",
        family="markup",
    ),
    "css": _Row("", "css", family="style"),
    "scss": _Row("sass less", "scss sass less", family="style"),
    "sql": _Row("mysql postgresql plsql sqlite pgsql", "sql"),
    "vim": _Row("viml vimscript", "vim", ".vimrc .exrc"),
    "perl": _Row("pl", "pl pm"),
    "r": _Row("rlang", "R r"),
    "julia": _Row("jl", "jl"),
    "zig": _Row("", "zig"),
    "dart": _Row("", "dart"),
    "ocaml": _Row("ml", "ml mli"),
    "make": _Row("makefile mk", "mk mak", "Makefile GNUmakefile makefile"),
    "cmake": _Row("", "cmake", "CMakeLists.txt"),
    "dockerfile": _Row("docker containerfile", "", "Dockerfile Containerfile"),
    "diff": _Row("patch udiff", "diff patch"),
    "markdown": _Row("md mdx quarto rmd pandoc vimwiki", "md markdown mdx qmd Rmd", family="prose"),
    "rst": _Row("restructuredtext", "rst", family="prose"),
    "text": _Row("txt plaintext plain help gitcommit mail asciidoc org", "txt adoc org", family="prose"),
    "tex": _Row("latex plaintex", "tex sty", family="prose"),
}

PROSE = frozenset(name for name, row in _TABLE.items() if row.family == "prose")
"""Languages of sentences; explanations around code cannot be told from the text itself."""

_BY_TAG = {tag: name for name, row in _TABLE.items() for tag in (name, *row.tags.split())}
_BY_EXTENSION = {ext: name for name, row in _TABLE.items() for ext in row.extensions.split()}
_BY_FILE = {file: name for name, row in _TABLE.items() for file in row.files.split()}
_NEUTRAL = frozenset({"", "text", "code", "output", "none", "snippet", "source", "src"})


def language_of(path: str, filetype: str = "") -> str:
    """Return the language name by filetype, else by file name; empty if unknown.

    An unknown filetype is returned unchanged: it still serves as a fence tag.
    """
    kind = filetype.lower().split(".", 1)[0]
    pure = PurePath(path)
    extension = pure.suffix[1:]
    if kind:
        found = _BY_TAG.get(kind, kind)
    elif pure.name in _BY_FILE:
        found = _BY_FILE[pure.name]
    else:
        found = _BY_EXTENSION.get(extension) or _BY_EXTENSION.get(extension.lower(), "")
    return "jsonc" if found == "json" and _COMMENTED.search(pure.as_posix()) else found


class Fit(IntEnum):
    """Fit of a fence's tag to the requested language."""

    FOREIGN = 0
    NEUTRAL = 1
    NEAR = 2
    EXACT = 3


def fit_of_tag(info: str, language: str) -> tuple[str, Fit]:
    """Return the language of a fence's info string (empty: none) and its fit to `language`."""
    tag = _language_of_tag(info)
    if tag in _NEUTRAL and language not in PROSE:
        return "", Fit.NEUTRAL
    if tag == language and tag:
        return tag, Fit.EXACT
    if tag not in _TABLE or not language:
        return tag, Fit.NEUTRAL
    return tag, Fit.NEAR if same_family(tag, language) else Fit.FOREIGN


def same_family(one: str, other: str) -> bool:
    """Return whether fence tags confuse two languages."""
    return _family(one) == _family(other)


def _family(language: str) -> str:
    row = _TABLE.get(language)
    return (row.family if row else "") or language


def _language_of_tag(info: str) -> str:
    """Parse ``python``, ``{.python}``, ``python:src/a.py``, ``src/a.py`` and tails like ``title="x"``."""
    words = [word for word in re.split(r"[\s:{},=]+", info.strip()) if word]
    if not words:
        return ""
    tag = words[0].lower().lstrip(".")
    return _BY_TAG.get(tag) or language_of(words[0]) or tag


def is_test(path: str) -> bool:
    """Return whether a path looks like a test file."""
    return _TEST.search(path) is not None
