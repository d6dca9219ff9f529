"""Hostile `.tideate/` trees, put before every command of the shell and of Neovim.

`python -m tests.hostile` runs all cases and prints what failed. A case is one tree and one command, with all
checks: nothing outside of the project was changed, nothing of the project that the command was not asked to
change, nothing was started but tideate's own Python and git, nothing of the home was told, and it answered
within its time and memory.
"""
