"""The site's reference, made while MkDocs builds it: what the schemas, parsers and Lua tables say.

MkDocs loads this as a hook; `python -m scripts.reference` prints the pages.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.help import generated
from tideate_core.app import own_tool_names
from tideate_core.cli.main import app
from tideate_core.workflows import definition_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ENTRY = re.compile(r"^(\S.*?)\s+\*[^*]+\*$")
"""A heading of the help with its tag."""
KEYS = {
    "prompt_keys": "The prompt",
    "output_keys": "The output window",
    "review_keys": "The review",
    "panel_keys": "The panel of runs",
    "runs_keys": "The page of a run",
    "graph_keys": "The graph",
}


def entries(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Return heading and text of each entry of a part of the help."""
    found: list[tuple[str, str]] = []
    for line in lines:
        if heading := ENTRY.match(line):
            found.append((heading[1], ""))
        elif line.strip():
            left, text = found[-1]
            found[-1] = (left, f"{text} {line.strip()}".strip())
    return found


def table(rows: Iterable[tuple[str, ...]], *heads: str) -> str:
    """Return a Markdown table; a bar in a cell is escaped."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    cells = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "".join(f"| {line} |\n" for line in cells)


def _without_tags(text: str) -> str:
    return re.sub(r"\|([^|\s]+)\|", r"`\1`", text)


def configuration(parts: Mapping[str, list[str]]) -> str:
    """Return the page of all keys of `config.toml` and `setup()`."""
    rows = [(f"`{key}`", _without_tags(text)) for key, text in entries(parts["config"])]
    return f"# Configuration\n\n`*` and `NAME` stand for a name of your choice.\n\n{table(rows, 'key', '')}"


def neovim(parts: Mapping[str, list[str]]) -> str:
    """Return the page of subcommands, mappings and keys."""
    rows = [(f"`{left}`", _without_tags(text)) for left, text in entries(parts["subcommands"])]
    page = f"# Neovim\n\n## Subcommands\n\n{table(rows, 'command', '')}\n## Mappings\n\n```text\n"
    page += "\n".join(line.strip() for line in parts["mappings"]) + "\n```\n"
    for part, title in KEYS.items():
        page += f"\n## {title}\n\n```text\n" + "\n".join(line.strip() for line in parts[part]) + "\n```\n"
    return page


def shell(_: Mapping[str, list[str]]) -> str:
    """Return the page of the commands, as their parsers have them."""
    text = app.generate_docs(output_format="markdown", recursive=True)
    return text.replace("# tideate\n", "# Commands of the shell\n", 1)


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    options = [_type(option) for option in schema.get("anyOf", []) if option.get("type") != "null"]
    return " or ".join(dict.fromkeys(options)) or str(schema.get("type", "any"))


def workflow(_: Mapping[str, list[str]]) -> str:
    """Return the page of the keys of workflow files, from their JSON Schema."""
    schema = definition_schema((), own_tool_names())
    page = "# Workflow files\n\n`tideate schema` prints the schema itself.\n"
    for title, each in (("A workflow", schema), *sorted(schema.get("$defs", {}).items())):
        properties: Mapping[str, Any] = each.get("properties", {})
        if properties:
            required = each.get("required", ())
            rows = [
                (f"`{key}`", _type(value), "yes" if key in required else "", value.get("description", ""))
                for key, value in properties.items()
            ]
            page += f"\n## {title}\n\n{table(rows, 'key', 'type', 'required', '')}"
    return page


PAGES: Mapping[str, Callable[[Mapping[str, list[str]]], str]] = {
    "configuration": configuration,
    "shell": shell,
    "neovim": neovim,
    "workflow": workflow,
}


def pages() -> dict[str, str]:
    """Return the Markdown of each page of the reference by its path below `docs/`."""
    parts = generated()
    return {f"reference/{name}.md": make(parts) for name, make in PAGES.items()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to those that MkDocs found."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


if __name__ == "__main__":
    print("\n".join(pages().values()))
