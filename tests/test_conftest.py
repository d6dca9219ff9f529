"""The time limits of tests: of the markers, and of `make fuzz`."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.conftest import SLOW_LIMIT, pytest_collection_modifyitems


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
