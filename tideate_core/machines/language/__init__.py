"""The `.workflow` language: lexer, parser, formatter, interpreter, obfuscation and diagrams of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.machines.language.definition import (
        BOUNDARY as BOUNDARY,
        MachineDefinition as MachineDefinition,
        Position as Position,
        State as State,
        Transition as Transition,
        WorkflowState as WorkflowState,
    )
    from tideate_core.machines.language.diagnostics import (
        Diagnostic as Diagnostic,
        Severity as Severity,
        explain_all as explain_all,
        explanations as explanations,
    )
    from tideate_core.machines.language.diagram import draw as draw
    from tideate_core.machines.language.formatting import (
        format_text as format_text,
        write_definition as write_definition,
    )
    from tideate_core.machines.language.lexer import Lexer as Lexer, Token as Token, TokenKind as TokenKind
    from tideate_core.machines.language.obfuscation import Obfuscator as Obfuscator
    from tideate_core.machines.language.parser import Parsed as Parsed, Parser as Parser, parse as parse
    from tideate_core.machines.language.workflow import (
        EXIT as EXIT,
        Action as Action,
        Failure as Failure,
        Success as Success,
        TransitionResult as TransitionResult,
        Workflow as Workflow,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
