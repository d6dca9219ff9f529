"""Agents over the Agent Client Protocol (ACP), version 1."""
