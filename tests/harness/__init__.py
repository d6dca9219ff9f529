"""Fixtures and doubles shared by the tests of several packages."""
