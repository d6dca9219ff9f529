"""`tideate models`: what can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import object_of

if TYPE_CHECKING:
    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow


def test_adapters_are_listed_with_the_default_marked(shell: Shell, answering: ModelServer) -> None:
    done = shell.run("models")
    (line,) = [line for line in done.stdout.splitlines() if "scripted" in line]
    assert line.rstrip().endswith("the default")
    told = object_of(shell.run("models", "--json"))
    assert [one["adapter"] for one in told["models"]] == ["local", told["default"]]


def test_a_server_is_asked_for_its_models(shell: Shell, answering: ModelServer) -> None:
    answering.models = ["scripted", "larger"]
    name = object_of(shell.run("models", "--json"))["default"]
    listed = object_of(shell.run("models", name, "--json"))["models"]
    assert [(one["model"], one["source"]) for one in listed] == [
        ("scripted", "configuration"),
        ("larger", "live"),
    ]


def test_an_unknown_provider_is_wrong_usage_with_the_nearest(shell: Shell, answering: ModelServer) -> None:
    done = shell.run("models", "antropic")
    assert done.returncode != 0
    assert "did you mean 'anthropic'" in done.stderr
