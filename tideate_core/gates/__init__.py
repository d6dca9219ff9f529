"""What an edit must pass before it is written."""

from __future__ import annotations

from tideate_core.gates.syntax import SyntaxProblem, new_errors
from tideate_core.workspace.languages import language_of

__all__ = ["SyntaxProblem", "language_of", "new_errors"]
