"""Test runs: command lines, lists of tests, execution, and results in one format."""

from __future__ import annotations
