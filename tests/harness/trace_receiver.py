"""A receiver of OpenTelemetry on loopback: OTLP over HTTP, decoded."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.harness.loopback import LoopbackServer, QuietHandler

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

__all__ = ["TraceReceiver", "attributes_of"]


class TraceReceiver(LoopbackServer):
    """Receiver that keeps its requests.

    :param status: of its answers.
    """

    def __init__(self, status: int = 200) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        receiver = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:  # noqa: N802 the name is the library's
                body = self.rfile.read(int(self.headers["Content-Length"]))
                zipped = self.headers.get("Content-Encoding") == "gzip"
                receiver.bodies.append(gzip.decompress(body) if zipped else body)
                receiver.paths.append(self.path)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        super().__init__(Handler)

    @property
    def spans(self) -> list[Span]:
        """All spans, in the order of their ends."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def named(self, name: str) -> Span:
        """Return the only span of a name."""
        (span,) = [span for span in self.spans if span.name == name]
        return span


def attributes_of(span: Span) -> dict[str, Any]:
    """Return the attributes as Python's values."""
    found = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        found[one.key] = getattr(one.value, kind) if kind else None
    return found
