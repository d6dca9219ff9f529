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
        "Errors and warnings of language servers and linters, `PATH:LINE: text of the line` and the message: "
        "of a file now, or without a path what is known of the project. Your staged edits are not seen.",
        Diagnostics,
        "reads",
        diagnostics,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_hover",
        "Type, signature and documentation of a symbol.",
        AtSymbol,
        "reads",
        hover,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_definition",
        "Where a symbol that stands on a line is defined, by a language server, which tells apart what only "
        "has the same name.",
        AtSymbol,
        "reads",
        definition,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_references",
        "All uses of a symbol that stands on a line, by a language server. Use it before you change a "
        "signature.",
        AtSymbol,
        "reads",
        references,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_implementations",
        "Implementations of an interface, abstract method or trait that stands on a line.",
        AtSymbol,
        "reads",
        implementations,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_symbols",
        "Symbols of a file with their lines, by a language server.",
        DocumentSymbols,
        "reads",
        document_symbols,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_workspace_symbols",
        "Find symbols of the project by a part of their name, by language servers.",
        WorkspaceSymbols,
        "reads",
        workspace_symbols,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_rename",
        "Rename a symbol in all files, by a language server. The edits are staged. It refuses files that "
        "have staged edits already: rename first, edit then.",
        Rename,
        "stages",
        rename,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_code_actions",
        "What language servers offer for some lines: quick fixes, missing imports, refactorings. "
        "lsp_apply_code_action stages one.",
        CodeActions,
        "reads",
        code_actions,
        needs_editor=True,
    ),
    WorkTool(
        "lsp_apply_code_action",
        "Stage the edits of a code action, named by its title as lsp_code_actions shows it. "
        "Returns the diff.",
        ApplyCodeAction,
        "stages",
        apply_code_action,
        needs_editor=True,
    ),
    WorkTool(
        "editor_buffers",
        "The project's files that the person has open, the one they look at, and their unsaved changes, "
        "which read_file shows, too.",
        Buffers,
        "reads",
        buffers,
        needs_editor=True,
    ),
    WorkTool(
        "editor_quickfix",
        "The person's quickfix list: places that a search, a compiler or a test left there.",
        Quickfix,
        "reads",
        quickfix,
        needs_editor=True,
    ),
)
