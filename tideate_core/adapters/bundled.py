"""What is known of the bundled model before it runs."""

from __future__ import annotations

__all__ = ["ALIAS", "CONTEXT_TOKENS"]

ALIAS = "SmolLM2-135M-Instruct"
CONTEXT_TOKENS = 4096
"""What prompt and answer share; 251 MB of memory."""
