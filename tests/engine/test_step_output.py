from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.engine.step import check_output
from tideate_core.errors import InvalidDefinition, OutputMismatch
from tideate_core.workflows import WorkflowStep

if TYPE_CHECKING:
    from collections.abc import Iterator


def step(schema: Any, **rest: Any) -> WorkflowStep:
    return WorkflowStep.model_validate({"id": "plan", "output_schema": schema, **rest})


FILES = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "object", "required": ["path"]}}},
}


def test_a_result_that_fits_passes() -> None:
    check_output(step(FILES), {"files": [{"path": "a.py"}]})


def test_a_step_without_a_schema_may_give_anything() -> None:
    check_output(WorkflowStep.model_validate({"id": "plan"}), object())


def test_the_path_and_the_reason_are_named() -> None:
    with pytest.raises(OutputMismatch) as raised:
        check_output(step(FILES), {"files": [{"path": "a.py"}, {}]})
    assert "step 'plan'" in str(raised.value)
    assert "$.files[1]: 'path' is a required property" in str(raised.value)


def test_several_mistakes_are_told_at_once_and_many_are_counted_off() -> None:
    with pytest.raises(OutputMismatch) as raised:
        check_output(step({"items": {"type": "integer"}}), ["a"] * 100)
    assert "$[0]:" in str(raised.value)
    assert "$[4]:" in str(raised.value)
    assert "$[5]:" not in str(raised.value)
    assert str(raised.value).endswith("and more")


def test_a_huge_value_makes_no_huge_message() -> None:
    with pytest.raises(OutputMismatch) as raised:
        check_output(step({"type": "integer"}), "x" * 1_000_000)
    assert len(str(raised.value)) < 500
    assert "is not of type 'integer'" in str(raised.value)


def test_of_for_each_every_item_is_checked() -> None:
    with pytest.raises(OutputMismatch, match=r"\$\[1\]\.files: 3 is not of type 'array'"):
        check_output(step(FILES, for_each="inputs.all"), [{"files": []}, {"files": 3}])


def test_an_item_that_failed_is_passed_over_where_the_step_continues_on_errors() -> None:
    failed = {"error": "no", "error_code": "StepFailed"}
    schema = {"type": "integer"}
    check_output(step(schema, for_each="inputs.all", continue_on_error=True), [1, failed])
    with pytest.raises(OutputMismatch, match=r"\$\[1\]"):
        check_output(step(schema, for_each="inputs.all"), [1, failed])


def test_a_schema_that_is_none_is_the_definitions_mistake() -> None:
    with pytest.raises(InvalidDefinition, match="its output_schema is not a JSON Schema"):
        check_output(step({"type": "intege"}), 3)


@pytest.fixture
def schema_server() -> Iterator[str]:
    """Serve a schema that everything fits, on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/schema.json"
        server.shutdown()
        thread.join()


def test_nothing_is_fetched_for_a_reference(schema_server: str) -> None:
    with pytest.raises(InvalidDefinition, match=r"refers to 'http.*nothing is fetched"):
        check_output(step({"$ref": schema_server}), 3)


def test_a_reference_to_nothing_is_the_definitions_mistake() -> None:
    with pytest.raises(InvalidDefinition, match="refers to '/\\$defs/nothing'"):
        check_output(step({"$ref": "#/$defs/nothing"}), 3)


def test_schemas_of_other_steps_are_not_mixed_up() -> None:
    for kind in ("integer", "string") * 50:
        check_output(step({"type": kind}), 3 if kind == "integer" else "three")
