"""The `.workflow` language: from text to a machine, and back."""

from tideate_core.machines.language.diagrams import FORMATS, draw
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
    "BOUNDARY",
    "EXIT",
    "FORMATS",
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
