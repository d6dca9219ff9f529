"""`tideate models`: adapters, and the models of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_adapters_are_listed_and_a_server_is_asked_for_its_models(
    shell: Shell, answering: ModelServer
) -> None:
    (line,) = [line for line in shell.run("models").stdout.splitlines() if "scripted" in line]
    assert line.rstrip().endswith("the default")
    answering.models = ["scripted", "larger"]
    told = shell.json("models")
    assert [one["adapter"] for one in told["models"]] == ["local", told["default"]]
    listed = shell.json("models", told["default"])["models"]
    assert [(one["model"], one["source"]) for one in listed] == [
        ("scripted", "configuration"),
        ("larger", "live"),
    ]


def test_an_unknown_provider_is_wrong_usage_with_the_nearest(shell: Shell, answering: ModelServer) -> None:
    done = shell.run("models", "antropic")
    assert done.returncode != 0
    assert "did you mean 'anthropic'" in done.stderr
