"""MCP server for the git repositories below one root: read, stage, commit, branch."""
