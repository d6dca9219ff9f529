"""Tools of the running Neovim: language servers, diagnostics, open buffers, the quickfix list."""

from __future__ import annotations

from typing import Any

from tideate_core.agents.tools.editor_edits import (
    ApplyCodeAction,
    CodeActions,
    Rename,
    apply_code_action,
    code_actions,
    rename,
)
from tideate_core.agents.tools.editor_lists import (
    Buffers,
    Diagnostics,
    Quickfix,
    buffers,
    diagnostics,
    quickfix,
)
from tideate_core.agents.tools.editor_places import (
    DocumentSymbols,
    WorkspaceSymbols,
    definition,
    document_symbols,
    hover,
    implementations,
    references,
    workspace_symbols,
)
from tideate_core.agents.tools.editor_queries import AtSymbol
from tideate_core.agents.tools.tool import WorkTool

__all__ = ["TOOLS"]

TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "diagnostics",
        "Errors and warnings of the editor's language servers and linters: `PATH:LINE: text of the line` and "
        "the message. With a path that file is looked at now; without one you get what is known of the "
        "project so far. They are about the files as they are in the editor, without your staged edits.",
        Diagnostics,
        "reads",
        diagnostics,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_hover",
        "Type, signature and documentation of a symbol, by the editor's language server.",
        AtSymbol,
        "reads",
        hover,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_definition",
        "Find where a symbol that stands on a line is defined, by the editor's language server: "
        "`PATH:LINE: text of the line`. It tells apart what only has the same name, which a search cannot.",
        AtSymbol,
        "reads",
        definition,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_references",
        "Find all uses of a symbol that stands on a line, its definition included, by the editor's language "
        "server: `PATH:LINE: text of the line`. Use it before you change a signature.",
        AtSymbol,
        "reads",
        references,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_implementations",
        "Find the implementations of an interface, abstract method or trait that stands on a line, by the "
        "editor's language server.",
        AtSymbol,
        "reads",
        implementations,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_symbols",
        "List the symbols of a file with their lines, indented as they are nested, by the editor's language "
        "server.",
        DocumentSymbols,
        "reads",
        document_symbols,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_workspace_symbols",
        "Find symbols of the whole project by a part of their name, by the language servers that run in the "
        "editor.",
        WorkspaceSymbols,
        "reads",
        workspace_symbols,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_rename",
        "Rename a symbol in all files, by the editor's language server. The edits are staged; you get their "
        "difference. It refuses files that have staged edits already: rename first, edit then.",
        Rename,
        "stages",
        rename,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_code_actions",
        "List what the editor's language servers offer to do with some lines: quick fixes, missing imports, "
        "refactorings. lsp_apply_code_action stages one.",
        CodeActions,
        "reads",
        code_actions,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_apply_code_action",
        "Stage the edits of a code action, named by its title as lsp_code_actions shows it for these lines. "
        "You get their difference.",
        ApplyCodeAction,
        "stages",
        apply_code_action,
        needs_editor=True,
    ),
    WorkTool(
        "editor_buffers",
        "List the project's files that the person has open, the one they look at, and their unsaved changes. "
        "Reading a file shows these changes, too.",
        Buffers,
        "reads",
        buffers,
        needs_editor=True,
    ),
    WorkTool(
        "editor_quickfix",
        "Show the person's quickfix list: places that a search, a compiler or a test left there.",
        Quickfix,
        "reads",
        quickfix,
        needs_editor=True,
    ),
)
