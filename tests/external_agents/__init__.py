"""Real agents, offline: each plays the script of a provider on loopback (`make test-agents`)."""
