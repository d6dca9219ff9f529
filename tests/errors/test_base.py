"""Root of the error tree: codes and hints."""

from __future__ import annotations

from tideate_core.errors.base import SlowSchema, TideateError, did_you_mean


def test_the_code_is_the_name_of_the_class_itself() -> None:
    assert (TideateError("x").code, SlowSchema("x").code) == ("TideateError", "SlowSchema")


def test_only_a_near_name_is_suggested() -> None:
    assert did_you_mean("styel", ["merge", "style"]) == "; did you mean 'style'?"
    assert did_you_mean("styel", ["merge", "build"]) == ""
    assert did_you_mean("styel", []) == ""
    assert did_you_mean("refcator", ["generator", "refactor"]) == "; did you mean 'refactor'?"
