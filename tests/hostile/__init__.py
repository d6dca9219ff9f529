"""Hostile `.tideate/` trees, tried with every command of the shell and of Neovim.

`python -m tests.hostile` runs all cases and prints the failures. A case is one tree and one command with
these checks: the command changed nothing outside of the project and only requested files inside, started no
programs but tideate's own Python and git, revealed nothing of the home directory, and stayed within its
limits of time and memory.
"""
