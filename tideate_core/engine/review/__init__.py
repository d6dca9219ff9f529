"""Reviews of proposed changes."""
