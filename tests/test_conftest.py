"""The sample of tests that CI takes."""

from __future__ import annotations

import pytest

from tests.conftest import sampled


def test_a_sample_has_each_test_and_every_nth_variant_of_the_bulky(request: pytest.FixtureRequest) -> None:
    def item(name: str, *, bulk: bool) -> pytest.Item:
        made = pytest.Function.from_parent(request.node.parent, name=name, callobj=lambda: None)
        if bulk:
            made.add_marker("bulk")
        return made

    many = [item(f"test_many[{n}]", bulk=True) for n in range(7)]
    few = [item("test_few[a]", bulk=True), item("test_few[b]", bulk=True)]
    plain = [item(f"test_plain[{n}]", bulk=False) for n in range(4)]
    assert sampled([*many, *few, *plain], 3) == [many[0], many[3], many[6], few[0], *plain]
    assert sampled([*many, *few, *plain], 1) == [*many, *few, *plain]
