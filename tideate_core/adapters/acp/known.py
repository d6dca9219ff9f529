"""Agents that tideate knows: their commands for ACP, and how to install them."""

from __future__ import annotations

from typing import Final

KNOWN_AGENTS: Final = {
    "claude": ("claude-agent-acp",),
    "codex": ("codex-acp",),
    "copilot": ("copilot", "--acp", "--stdio"),
    "gemini": ("gemini", "--experimental-acp"),
    "opencode": ("opencode", "acp"),
}
INSTALL: Final = {
    "claude": "npm install -g @agentclientprotocol/claude-agent-acp",
    "codex": "npm install -g @agentclientprotocol/codex-acp",
    "copilot": "npm install -g @github/copilot",
    "gemini": "npm install -g @google/gemini-cli",
    "opencode": "npm install -g opencode-ai",
}
