"""The time limits of tests, of the markers and of `make fuzz`, and the sample that CI takes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.conftest import SLOW_LIMIT, pytest_collection_modifyitems, sampled


@pytest.mark.parametrize(
    ("profile", "marks", "limit"),
    [
        ("test", [pytest.mark.slow], SLOW_LIMIT),
        ("test", [pytest.mark.slow, pytest.mark.timeout(60)], 60),
        ("fuzz", [pytest.mark.slow], 1800),
        ("fuzz", [pytest.mark.timeout(60)], 1800),
        ("fuzz", [pytest.mark.timeout(3600)], 3600),
    ],
)
def test_under_fuzz_no_marker_lowers_the_limit_of_the_command(
    request: pytest.FixtureRequest,
    profile: str,
    marks: list[pytest.MarkDecorator],
    limit: int,
) -> None:
    item = pytest.Function.from_parent(request.node.parent, name="test_one", callobj=lambda: None)
    for mark in marks:
        item.add_marker(mark)
    config = SimpleNamespace(getoption={"timeout": 1800, "--hypothesis-profile": profile}.get)
    pytest_collection_modifyitems(config, [item])  # type: ignore[arg-type]
    found = item.get_closest_marker("timeout")
    assert found is not None
    assert found.args == (limit,)


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
