"""The functions that answer HTTP: their telemetry, and the API, built for the first request.

Telemetry is structured logs and traces; the metrics are those of the gateway. The routes take a
fifth of the processor time of the API's start (ADR 0158).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils

from daicho.handlers.wiring.invocation import Context, Handler
from daicho.runtime.start_up import pause_garbage_collection

TRACE_HEADER = "_X_AMZN_TRACE_ID"
"""The variable in which Lambda's runtime gives the trace header of an invocation."""


def with_telemetry(answer: Handler, *, traced: bool) -> Handler:
    """Log under the request's id, and trace calls of the table."""
    logger = Logger()
    utils.copy_config_to_registered_loggers(source_logger=logger, include={"daicho"})

    @logger.inject_lambda_context
    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        logger.set_correlation_id(event["requestContext"].get("requestId"))
        return answer(event, context)

    seen: Handler = TracedHandler(handler) if traced else handler
    return seen


class TracedHandler:
    """Traces the invocations of a handler that X-Ray samples.

    The tracer is created for the first of them: its import takes as long as pydantic and botocore
    together, and X-Ray samples one request a second and 5 % of the others by default.
    """

    def __init__(self, handler: Handler, trace: Callable[[Handler], Handler] | None = None) -> None:
        self._handler, self._trace = handler, trace or _trace
        self._is_tracing = False

    def __call__(self, event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Answer an event."""
        if not self._is_tracing and "Sampled=1" in os.environ.get(TRACE_HEADER, ""):
            self._handler, self._is_tracing = self._trace(self._handler), True
        return self._handler(event, context)


def _trace(handler: Handler) -> Handler:
    from aws_lambda_powertools import Tracer  # noqa: PLC0415  # see `TracedHandler`

    tracer = Tracer(patch_modules=["botocore"])
    traced: Handler = tracer.capture_lambda_handler(capture_response=False)(handler)
    return traced


def build_on_first_request(build: Callable[[], Handler]) -> Handler:
    """A handler that ``build`` returns when the first request comes: it loads the routes."""

    @cache
    def get_handler() -> Handler:
        with pause_garbage_collection():
            return build()

    def answer(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        return get_handler()(event, context)

    return answer
