"""MkDocs hook: generated parts of the reference, pages from the repository's root, and pictures.

`python -m scripts.reference` prints the pages of the reference.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.help import generated
from tideate_core.app import own_tool_names
from tideate_core.cli.main import app
from tideate_core.workflows import definition_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    Parts = Mapping[str, list[str]]
    """Generated parts of the help, by name."""

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"
FROM_ROOT: Final = {"CONTRIBUTING.md": "contribute/quick-start.md", "CHANGELOG.md": "help/changelog.md"}
"""Documents of the repository's root, and their pages in the site."""
MARKER: Final = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)
PICTURE: Final = re.compile(
    r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img src="([^"]+)" alt="([^"]+)">\s*</picture>'
)
ENTRY: Final = re.compile(r"^(\S.*?)\s+\*[^*]+\*$")
"""A heading of the help with its tag."""
NOTES: Final = re.compile(r"^(?P<text>.*) \((?P<notes>[^()]*(?:\(\)[^()]*)*)\)$")
"""A description, and the type, default and values of its key."""
KEY: Final = re.compile(r"^(\S+(?: {2}\S{1,6})*)\s+(.*)$")
"""The keys of a line, two blanks apart, and their description."""
KEYS: Final = {
    "prompt_keys": "The prompt",
    "output_keys": "The output window",
    "chat_keys": "The history of a chat",
    "message_keys": "The message of a chat",
    "review_keys": "The review",
    "panel_keys": "The panel",
    "inbox_keys": "The inbox",
    "runs_keys": "The page of a run",
    "comparison_keys": "The comparison of two runs",
    "graph_keys": "The graph",
}
COMMON: Final = re.compile(r"`--(?:json|yes|root)\b")
"""Options that the page describes once for all commands."""
SURFACE: Final = ROOT / "tests" / "public_surface.json"
"""Public names, recorded and compared by a test."""


def sentence(text: str) -> str:
    """Return a description with a capital letter, and keys and commands as code."""
    marked = re.sub(r"(?<![`\w])(<[A-Z][\w-]*>|:Workflow\b[^.;,`]*)(?!`)", r"`\1`", text)
    return marked[:1].upper() + marked[1:]


def table(rows: Iterable[tuple[str, ...]], *heads: str) -> str:
    """Return a Markdown table with escaped bars."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    cells = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "".join(f"| {line} |\n" for line in cells)


def entries(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Return the headings of a part of the help with their texts."""
    found: list[tuple[str, str]] = []
    for line in lines:
        if heading := ENTRY.match(line):
            found.append((heading[1], ""))
        elif line.strip():
            left, text = found[-1]
            found[-1] = (left, f"{text} {line.strip()}".strip())
    linked = ((left, re.sub(r"\|:Workflow-(\w+)\|", r"`:Workflow \1`", text)) for left, text in found)
    return [(left, re.sub(r"\|([^|\s]+)\|", r"`:help \1`", text)) for left, text in linked]


def configuration(parts: Parts) -> str:
    """Return a table of configuration keys for each section."""
    sections: dict[str, list[tuple[str, str, str]]] = {"General": []}
    for key, text in entries(parts["config"]):
        name = key.split(".")[0] if "." in key else "General"
        notes = NOTES.match(text)
        meaning, rest = (notes["text"], notes["notes"]) if notes else (text, "")
        sections.setdefault(name, []).append(
            (f"`{key}`", meaning, rest.replace("default {}", "default none"))
        )
    return "\n".join(
        f"## {name}\n\n{table(rows, 'Key', 'Meaning', 'Type and default')}"
        for name, rows in sections.items()
        if rows
    )


def workflows(parts: Parts) -> str:
    """Return the table of built-in workflows."""
    return table(
        [(f"`{left}`", text) for left, text in entries(parts["workflows"])], "Command", "What it does"
    )


def subcommands(parts: Parts) -> str:
    """Return the table of subcommands."""
    rows = [(f"`{left}`", text) for left, text in entries(parts["subcommands"])]
    return table(rows, "Command", "What it does")


def unwrapped(lines: Iterable[str]) -> list[str]:
    """Return the entries of a list of the help, each on one line."""
    found: list[str] = []
    for line in "\n".join(lines).splitlines():
        if line.startswith(" " * 8) and found:
            found[-1] += f" {line.strip()}"
        elif line.strip():
            found.append(line.strip())
    return found


def keys_of(lines: Iterable[str]) -> list[tuple[list[str], str]]:
    """Return the keys and the description of each entry.

    :raises ValueError: a line has no description.
    """
    found = []
    for line in unwrapped(lines):
        entry = KEY.match(line)
        if entry is None:
            raise ValueError(f"the help has a key without a description: {line!r}")
        found.append((entry[1].split(), entry[2]))
    return found


def keys(parts: Parts) -> str:
    """Return the table of mappings, and a table of keys for each window."""
    mappings = (line.split(maxsplit=1) for line in unwrapped(parts["mappings"]))
    rows = [(f"`{left}`", sentence(does)) for left, does in mappings]
    page = f"## Mappings\n\n{table(rows, 'Mapping', 'What it does')}"
    for part, title in KEYS.items():
        rows = [
            (", ".join(f"`{key}`{{.key}}" for key in names), sentence(does))
            for names, does in keys_of(parts[part])
        ]
        page += f"\n## {title}\n\n{table(rows, 'Key', 'What it does')}"
    return page


def highlights(parts: Parts) -> str:
    """Return the table of highlight groups."""
    found = (line.split(maxsplit=2) for line in unwrapped(parts["highlights"]))
    rows = [
        (f"`{tag.strip('*').removeprefix('hl-')}`", f"`{link}`", sentence(use)) for tag, link, use in found
    ]
    return table(rows, "Group", "Default link", "Used for")


def shell(_: Parts) -> str:
    """Return usage and options of each command, from the parsers."""
    text = app.generate_docs(output_format="markdown", recursive=True)
    blocks = re.split(r"^(#{2,4} tideate [a-z -]+)$", text, flags=re.MULTILINE)
    listed = re.findall(r"^\* \[`([a-z]+)`\]\(#([\w-]+)\): (.*)$", blocks[0], re.MULTILINE)
    page = table(
        ((f"[`{name}`](#{anchor})", does) for name, anchor, does in listed), "Command", "What it does"
    )
    for heading, body in zip(blocks[1::2], blocks[2::2], strict=True):
        page += f"\n{heading}\n\n{_command(heading.lstrip('# '), body)}"
    return page


def _command(name: str, body: str) -> str:
    """Return description, usage and options of one command."""
    usage = re.search(r"^```console\n.*?((?:\[OPTIONS\]|COMMAND).*)\n```$", body, re.MULTILINE)
    lines = re.sub(r"^```console\n.*?\n```$", "", body, flags=re.MULTILINE | re.DOTALL).splitlines()
    words = [line for line in lines if line and not line.startswith(("* ", "**"))]
    options = re.findall(r"^\* (`[^`]+`): (.*)$", "\n".join(lines), re.MULTILINE)
    rows = [
        (option, re.sub(r" \*+\[([^]]*)\]\*+", r" (\1)", does).replace(" (default: False)", ""))
        for option, does in options
        if not COMMON.match(option)
    ]
    page = "\n\n".join(words) + "\n"
    if usage:
        page += f"\n```console\n{name} {usage[1]}\n```\n"
    return page + (f"\n{table(rows, 'Argument', 'Meaning')}" if rows else "")


TITLES: Final = {
    "WorkflowStep": "Step",
    "ToolCall": "Tool call",
    "NestedWorkflow": "Nested workflow",
    "InputDefinition": "Input",
    "ForEach": "Loop",
}
"""Parts of the schema of workflow files."""


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        return TITLES.get(name, name).lower()
    options = [_type(option) for option in schema.get("anyOf", []) if option.get("type") != "null"]
    return " or ".join(dict.fromkeys(options)) or str(schema.get("type", "any"))


def workflow(_: Parts) -> str:
    """Return the keys of workflow files, from their JSON Schema."""
    schema = definition_schema((), own_tool_names())
    page = ""
    for title, each in (("Workflow", schema), *sorted(schema.get("$defs", {}).items(), reverse=True)):
        properties: Mapping[str, Any] = each.get("properties", {})
        if properties:
            required = each.get("required", ())
            rows: dict[str, tuple[str, str, str]] = {}
            for key, value in properties.items():
                says = value.get("description", "")
                if known := next((known for known, row in rows.items() if says and row[2] == says), None):
                    rows[known] = (f"{rows[known][0]}, `{key}`", *rows[known][1:])
                else:
                    needed = ", required" if key in required else ""
                    rows[key] = (f"`{key}`", _type(value) + needed, says)
            page += f"\n## {TITLES.get(title, title)}\n\n{table(rows.values(), 'Key', 'Type', 'Meaning')}"
    return page


def python(_: Parts) -> str:
    """Return the public names of each package with the headlines of their docstrings."""
    page = ""
    packages: Mapping[str, Iterable[str]] = json.loads(SURFACE.read_text(encoding="utf-8"))["python"]
    for package, names in packages.items():
        module = import_module(package)
        page += f"\n## {package}\n\n{_headline(module)}\n"
        for name in names:
            each = getattr(module, name)
            rows = [
                (f"`{member}({_parameters(function)})`", _headline(function))
                for member, function in vars(each).items()
                if inspect.isfunction(function) and not member.startswith("_") and function.__doc__
            ]
            page += f"\n### {name}\n\n{_headline(each)}\n"
            page += f"\n{table(rows, 'Method', 'What it does')}" if rows else ""
    return page


def _headline(item: object) -> str:
    return (inspect.getdoc(item) or "").partition("\n\n")[0].replace("\n", " ")


def _parameters(function: Callable[..., Any]) -> str:
    return ", ".join(name for name in inspect.signature(function).parameters if name != "self")


PARTS: Final[Mapping[str, Callable[[Parts], str]]] = {
    "configuration": configuration,
    "workflows": workflows,
    "subcommands": subcommands,
    "keys": keys,
    "highlights": highlights,
    "shell": shell,
    "workflow": workflow,
    "python": python,
}


def filled(text: str, parts: Parts) -> str:
    """Replace each marker of a page with its generated part."""
    return MARKER.sub(lambda marker: PARTS[marker[1]](parts).strip(), text)


def pages() -> dict[str, str]:
    """Return the Markdown of each page of the reference by its path below `docs/`."""
    parts = generated()
    return {
        path.relative_to(DOCS).as_posix(): filled(path.read_text(encoding="utf-8"), parts)
        for path in sorted((DOCS / "reference").glob("*.md"))
    }


def with_pictures(text: str) -> str:
    """Replace each picture by a light and a dark one, of which the site shows one; each opens by itself."""
    return PICTURE.sub(
        r'<p class="shot"><a class="only-light" href="\2"><img src="\2" alt="\3" loading="lazy"></a>'
        r'<a class="only-dark" href="\1"><img src="\1" alt="\3" loading="lazy"></a></p>',
        text,
    )


def with_links(text: str, page: str) -> str:
    """Replace links to documents of the root by links to their pages."""

    def replaced(link: re.Match[str]) -> str:
        return "](" + os.path.relpath(FROM_ROOT[link[1]], PurePosixPath(page).parent)

    return re.sub(rf"\]\((?:\.\./)+({'|'.join(FROM_ROOT)})", replaced, text)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the repository's root."""
    from mkdocs.structure.files import File

    for name, page in FROM_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](../")
        files.append(File.generated(config, page, content=text))
    return files


_parts: dict[str, list[str]] = {}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill the markers of a page, and adapt its pictures and links."""
    if MARKER.search(markdown):
        if not _parts:
            _parts.update(generated())
        markdown = filled(markdown, _parts)
    return with_links(with_pictures(markdown), page.file.src_uri)


if __name__ == "__main__":
    print("\n".join(pages().values()))
