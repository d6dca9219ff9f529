# `make run` shows tideate, `make test` checks it; both make their own environment in .venv.
# PYTHON=/path/to/python3.12 names the interpreter to make it with.

export PYTHON
# where it is set, every process of the tests would compile what it imports
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help run quick test test-all test-slow test-hostile test-editors test-mcp test-agents test-runners install bench fuzz crash coverage stress docs site screenshots clean

python := .venv/bin/python
SECONDS ?= 60
EXAMPLES ?= 5000
STEPS ?= 1000
KILLS ?= 200
TIMES ?= 50

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: install ## show tideate: a tour in Neovim, or without a terminal three runs on a real file
	@$(python) -m scripts.tour

quick: install ## under a minute: ruff, mypy, import-linter, Lua, the tests that need no editor, server or run
	@$(python) -m scripts.checks quick

test: install ## every check: ruff, mypy, import-linter, Lua, pytest without the slow tests
	@$(python) -m scripts.checks test $(ARGS)

test-all: test test-slow test-hostile test-editors test-mcp test-agents test-runners ## every check and every test that takes longer

test-slow: install ## the tests with the marker `slow`, under umask 077 (ARGS="tests/engine"); some need strace or unshare
	@TIDEATE_UMASK=$${TIDEATE_UMASK:-077} $(python) -m pytest -m slow -n auto --dist worksteal $(ARGS)

test-hostile: install ## hostile .tideate/ trees before every command of the shell and of Neovim; needs strace (ARGS="--trees config")
	@$(python) -m tests.hostile $(ARGS)

test-editors: install ## the editor tests on Neovim 0.10, 0.12 and the environment's own (ARGS="--only 0.12", ARGS=--sample: some of them)
	@$(python) -m scripts.neovims $(ARGS)

test-mcp: install ## MCP against the official conformance suite, the MCP inspector and a server of others
	@$(python) -m scripts.conformance
	@$(python) -m scripts.third_party

test-agents: install ## install real agents (npm, 2 GB) and have them work offline against a scripted provider (ARGS="-k codex")
	@$(python) -m scripts.agents $(ARGS)

test-runners: install ## install the native test runners, and compare with them: projects of seventeen kinds and a monorepo (ARGS="-k go")
	@sh scripts/runners.sh
	@TIDEATE_RUNNERS=$(CURDIR)/.cache/runners $(python) -m pytest tests/toolchain/testing/test_real_projects.py $(ARGS)

install: ## the environment in .venv, with tideate and a Neovim
	@sh scripts/setup.sh

bench: install ## the plugin in the editor, alone; machines, runs, snapshots, guarded copies, edits, MCP servers and fleets beside their peers (ARGS=--short: a quick look)
	@sh scripts/group.sh peers
	@$(python) -m benchmarks.editor $(ARGS)
	@$(python) -m benchmarks.machines $(ARGS)
	@$(python) -m benchmarks.engine $(ARGS)
	@$(python) -m benchmarks.history $(ARGS)
	@sh scripts/restic.sh
	@$(python) -m benchmarks.snapshots $(ARGS)
	@$(python) -m benchmarks.guard $(ARGS)
	@sh scripts/edit_peers.sh
	@$(python) -m benchmarks.edits $(ARGS)
	@$(python) -m benchmarks.mcp $(ARGS)
	@$(python) -m benchmarks.loop $(ARGS)
	@$(python) -m benchmarks.loop_tools $(ARGS)
	@$(python) -m benchmarks.fleet $(ARGS)

fuzz: install ## the property tests with many more examples (2,000 in all for secrets that may reach a model), walks through reviews, hostile values for the MCP servers, then atheris on the language (EXAMPLES=5000 STEPS=1000 SECONDS=60)
	@sh scripts/group.sh fuzz
	@TIDEATE_EXAMPLES=$(EXAMPLES) $(python) -m pytest -m hypothesis --hypothesis-profile fuzz -n auto --timeout 1800 -o faulthandler_timeout=4000
	@REVIEW_STEPS=$(STEPS) $(python) -m pytest tests/editor/test_review_walk.py tests/builtin/test_review_walk.py --timeout 3600 -o faulthandler_timeout=4000
	@TIDEATE_HOSTILE=all $(python) -m pytest tests/mcp/test_fuzz.py -n auto
	@$(python) -m scripts.fuzz_language $(SECONDS)

crash: install ## the tests that kill, cut and fill things up (KILLS=200 of one run's processes)
	@TIDEATE_KILLS=$(KILLS) $(python) -m pytest -m crash -n auto

coverage: install ## the share of branches that the tests take in engine/ with builtin/, workflows/, store/: at least 95 % of each
	@$(python) -m scripts.branches

stress: install ## the tests of what happens side by side, many times over (TIMES=50)
	@TIDEATE_TIMES=$(TIMES) $(python) -m pytest -m concurrency -n auto

docs: install ## write doc/tideate.txt anew from the Lua tables
	@$(python) -m scripts.help

site: install ## docs/ as a site in .cache/site, with the reference made from the schemas
	@sh scripts/group.sh site
	@NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build --strict

screenshots: install ## docs/pictures/ anew: the tour in a real Neovim, 80x24 and 200x50, dark and light
	@sh scripts/group.sh site
	@$(python) -m scripts.screenshots

clean: ## remove the environment and everything that is made
	rm -rf .venv .cache dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
