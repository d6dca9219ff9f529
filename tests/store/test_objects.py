from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tideate_core.errors import StoreError
from tideate_core.store.objects import BIG, Objects, Packed, definition_hash, is_deeper, pack, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.slow
@settings(max_examples=50)
@given(JSON)
def test_a_value_comes_back_as_it_went(value: Any) -> None:
    text = pack(value)
    assert isinstance(text, str)
    assert Objects(Path("/nowhere")).load(text) == value


def test_only_big_values_are_files() -> None:
    assert isinstance(pack("x" * (BIG - 2)), str)
    assert isinstance(pack("x" * (BIG - 1)), Packed)


def test_a_big_value_comes_back_and_is_written_once(tmp_path: Path) -> None:
    objects = Objects(tmp_path)
    value = {"text": "ü" * BIG}
    packed = pack(value)
    assert isinstance(packed, Packed)
    objects.save(packed)
    before = objects.path(packed.hash).stat()
    objects.save(packed)
    assert objects.path(packed.hash).stat().st_mtime_ns == before.st_mtime_ns
    assert objects.load(packed.text) == value
    assert [path.name for path in (tmp_path / "objects").rglob("*") if path.is_file()] == [packed.hash]
    objects.path(packed.hash).unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        objects.load(packed.text)


def test_a_file_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    objects = Objects(tmp_path)
    packed = pack("x" * BIG)
    assert isinstance(packed, Packed)
    objects.save(packed)
    objects.path(packed.hash).write_bytes(packed.content[:100])
    with pytest.raises(StoreError, match="is damaged"):
        objects.load(packed.text)
    objects.save(packed)
    assert objects.load(packed.text) == "x" * BIG


def test_a_file_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack("x" * BIG)
    assert isinstance(packed, Packed)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "objects" / packed.hash[:2]).mkdir(parents=True)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        Objects(tmp_path).save(packed)
    assert not [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]


@pytest.mark.parametrize("value", [object(), {1: {2}}, b"bytes"])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(StoreError, match="not JSON"):
        pack(value)


def test_what_goes_round_in_a_circle_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(StoreError, match="not JSON"):
        pack(circle)


def test_a_damaged_column_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is damaged"):
        Objects(tmp_path).load("{")


def test_a_definition_has_the_hash_of_the_text_that_is_kept() -> None:
    assert definition_hash("a\udc80") == definition_hash(plain("a\udc80")) != definition_hash("a")
    assert len(definition_hash("")) == 64


def test_what_could_not_be_read_again_is_not_kept() -> None:
    value: Any = 1
    for _ in range(500):
        value = [value]
    assert Objects(Path("/nowhere")).load(str(pack(value))) == value
    with pytest.raises(StoreError, match="deeper than 500 levels"):
        pack({"x": value})


def test_a_column_too_deep_to_be_read_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="damaged"):
        Objects(tmp_path).load("[" * 100_000 + "]" * 100_000)


def test_depth_is_of_the_deepest() -> None:
    assert not is_deeper([1, {"a": [2]}], 3)
    assert is_deeper([1, {"a": [2]}], 2)
    assert not is_deeper("[[[", 0)
