"""Background thread that exports run events by OpenTelemetry and never delays or fails a run."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from tideate_core import __version__
from tideate_core.adapters import IN_NEOVIM, PIP
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    from tideate_core.app.run_spans import RunIds
    from tideate_core.config import Config
    from tideate_core.engine import Event

log = logging.getLogger(__name__)

WAITING: Final = 20_000
"""Maximum queued events; further events are dropped."""
EXPORT_TIMEOUT: Final = 1.5
"""Time limit in seconds for one export with its retries; less than `CLOSE_LIMIT`."""
CLOSE_LIMIT: Final = 2.0
"""Seconds that the process waits for the last export at its end."""
EXPORT_EVERY: Final = 2_000
"""Milliseconds between exports."""
INSTALL: Final = (
    f"{PIP} install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
    f"{IN_NEOVIM.format(extra='telemetry')}"
)
UNUSED: Final = frozenset(
    {EventName.REASONING, EventName.HUNKS_STREAMED, EventName.CHECK_OUTPUT, EventName.TOOL_PROGRESS}
)


def traces_address(address: str) -> str:
    """Return the URL for spans: the receiver's address, with the path of OTLP if missing."""
    address = address.rstrip("/")
    return address if address.endswith("/v1/traces") else f"{address}/v1/traces"


class Telemetry:
    """Exporter of run events; its thread starts with the first event.

    :param config: a configuration with `telemetry.otlp`.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._events: queue.Queue[Event | None] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None
        self._full = False

    def take(self, event: Event) -> None:
        """Queue an event; never blocks."""
        if event.name in UNUSED or (event.name is EventName.TOKEN and not self._config.telemetry.content):
            return
        if self._thread is None:
            # a daemon: a receiver that does not answer cannot keep the process alive
            self._thread = threading.Thread(target=self._work, name="telemetry", daemon=True)
            self._thread.start()
        try:
            self._events.put_nowait(event)
        except queue.Full:
            if not self._full:
                log.warning("telemetry: more events than can be exported; some spans will be missing")
            self._full = True

    async def aclose(self) -> None:
        """Export the remaining spans within `CLOSE_LIMIT` seconds."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        try:
            self._events.put_nowait(None)
        except queue.Full:
            return  # the thread hangs, and ends with the process
        await asyncio.to_thread(thread.join, CLOSE_LIMIT)

    def _work(self) -> None:
        try:
            from tideate_core.app.run_spans import RunIds, RunSpans

            ids = RunIds()
            provider = self._provider(ids)
        except ImportError:
            log.warning("telemetry: OpenTelemetry is not installed, nothing is exported; %s", INSTALL)
            return
        tracer = provider.get_tracer("tideate", __version__)
        spans = RunSpans(tracer, ids, self._model_of, content=self._config.telemetry.content)
        while (event := self._events.get()) is not None:
            try:
                spans.take(event)
            except Exception:  # one failed span must not stop the others
                log.exception("telemetry: no span of %s of run %s", event.name, event.execution_id)
        spans.end_all()
        provider.shutdown()

    def _provider(self, ids: RunIds) -> TracerProvider:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        address = traces_address(self._config.telemetry.otlp or "")
        exporter = OTLPSpanExporter(address, timeout=EXPORT_TIMEOUT, session=_session(address))
        warn_once = cast("SpanExporter", _WarnOnce(exporter, address))
        resource = Resource.create({"service.name": "tideate", "service.version": __version__})
        provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(warn_once, schedule_delay_millis=EXPORT_EVERY))
        return provider

    def _model_of(self, adapter: str) -> tuple[str, str]:
        """Return provider and model of an adapter, for spans."""
        configured = self._config.adapters.get(adapter)
        if configured is not None and configured.base_url is not None:
            return adapter, configured.model
        provider, _, model = (configured.model if configured else adapter).partition(":")
        return provider, model


class _WarnOnce:
    """Exporter that logs only its first failure."""

    def __init__(self, exporter: SpanExporter, address: str) -> None:
        self._exporter = exporter
        self._address = address
        self._warned = False
        # the library logs every failed request
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        from opentelemetry.sdk.trace.export import SpanExportResult

        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS and not self._warned:
            self._warned = True
            log.warning("telemetry: %s does not accept spans; runs continue without", self._address)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _session(address: str) -> Any:
    """Return an HTTP session, without proxies for loopback addresses."""
    import requests

    session = requests.Session()
    session.trust_env = urlsplit(address).hostname not in ("127.0.0.1", "::1", "localhost")
    return session
