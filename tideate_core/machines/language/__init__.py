"""The `.workflow` language: from text to a machine, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.machines.language.diagrams import FORMATS, draw
    from tideate_core.machines.language.diagrams.dot import quoted
    from tideate_core.machines.language.diagrams.mermaid import escaped
    from tideate_core.machines.language.diagrams.page import page
    from tideate_core.machines.language.diagrams.words import columns, cut, one_line, padded
    from tideate_core.machines.language.formatting import format_text
    from tideate_core.machines.language.lexer import Lexer, Token, TokenKind
    from tideate_core.machines.language.model import (
        BOUNDARY,
        Diagnostic,
        MachineDefinition,
        Position,
        Severity,
        State,
        Transition,
    )
    from tideate_core.machines.language.obfuscation import Obfuscator
    from tideate_core.machines.language.parser import Parsed, Parser, parse
    from tideate_core.machines.language.rendering import explain, explain_all, explanations
    from tideate_core.machines.language.workflow import (
        EXIT,
        Action,
        Failure,
        Success,
        TransitionResult,
        Workflow,
    )
    from tideate_core.machines.language.writing import write_definition

__all__ = [
    "Action",
    "BOUNDARY",
    "Diagnostic",
    "EXIT",
    "FORMATS",
    "Failure",
    "Lexer",
    "MachineDefinition",
    "Obfuscator",
    "Parsed",
    "Parser",
    "Position",
    "Severity",
    "State",
    "Success",
    "Token",
    "TokenKind",
    "Transition",
    "TransitionResult",
    "Workflow",
    "columns",
    "cut",
    "draw",
    "escaped",
    "explain",
    "explain_all",
    "explanations",
    "format_text",
    "one_line",
    "padded",
    "page",
    "parse",
    "quoted",
    "write_definition",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "diagrams": (
                "FORMATS",
                "draw",
            ),
            "diagrams.dot": ("quoted",),
            "diagrams.mermaid": ("escaped",),
            "diagrams.page": ("page",),
            "diagrams.words": (
                "columns",
                "cut",
                "one_line",
                "padded",
            ),
            "formatting": ("format_text",),
            "lexer": (
                "Lexer",
                "Token",
                "TokenKind",
            ),
            "model": (
                "BOUNDARY",
                "Diagnostic",
                "MachineDefinition",
                "Position",
                "Severity",
                "State",
                "Transition",
            ),
            "obfuscation": ("Obfuscator",),
            "parser": (
                "Parsed",
                "Parser",
                "parse",
            ),
            "rendering": (
                "explain",
                "explain_all",
                "explanations",
            ),
            "workflow": (
                "Action",
                "EXIT",
                "Failure",
                "Success",
                "TransitionResult",
                "Workflow",
            ),
            "writing": ("write_definition",),
        },
    )
