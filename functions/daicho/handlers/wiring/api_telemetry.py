"""The telemetry of the API: structured logs and traces. Its metrics are those of the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import correlation_paths, utils

from daicho.handlers.wiring.invocation import Context, Handler


def with_telemetry(answer: Handler, *, traced: bool) -> Handler:
    """Log under the request's id, and trace calls of the table."""
    logger = Logger()
    utils.copy_config_to_registered_loggers(source_logger=logger, include={"daicho"})

    @logger.inject_lambda_context(correlation_id_path=correlation_paths.API_GATEWAY_HTTP)
    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        return answer(event, context)

    seen: Handler = _with_tracing(handler) if traced else handler
    return seen


def _with_tracing(handler: Handler) -> Handler:
    # X-Ray's SDK takes as long to import as pydantic and boto3's session together.
    from aws_lambda_powertools import Tracer  # noqa: PLC0415

    tracer = Tracer(patch_modules=["botocore"])
    seen: Handler = tracer.capture_lambda_handler(capture_response=False)(handler)
    return seen
