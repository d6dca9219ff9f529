"""The `.workflow` language: lexer, parser, formatter, engine, obfuscation and diagrams of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.machines.language.definition import (
        BOUNDARY,
        MachineDefinition,
        Position,
        State,
        Transition,
    )
    from tideate_core.machines.language.diagnostics import (
        Diagnostic,
        Severity,
        explain,
        explain_all,
        explanations,
    )
    from tideate_core.machines.language.diagram import draw
    from tideate_core.machines.language.formatting import format_text, write_definition
    from tideate_core.machines.language.lexer import Lexer, Token, TokenKind
    from tideate_core.machines.language.obfuscation import Obfuscator
    from tideate_core.machines.language.parser import Parsed, Parser, parse
    from tideate_core.machines.language.workflow import (
        EXIT,
        Action,
        Failure,
        Success,
        TransitionResult,
        Workflow,
    )

__all__ = [
    "BOUNDARY",
    "EXIT",
    "Action",
    "Diagnostic",
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
    "draw",
    "explain",
    "explain_all",
    "explanations",
    "format_text",
    "parse",
    "write_definition",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "definition": ("BOUNDARY", "MachineDefinition", "Position", "State", "Transition"),
            "diagnostics": ("Diagnostic", "Severity", "explain", "explain_all", "explanations"),
            "diagram": ("draw",),
            "formatting": ("format_text", "write_definition"),
            "lexer": ("Lexer", "Token", "TokenKind"),
            "obfuscation": ("Obfuscator",),
            "parser": ("Parsed", "Parser", "parse"),
            "workflow": ("EXIT", "Action", "Failure", "Success", "TransitionResult", "Workflow"),
        },
    )
