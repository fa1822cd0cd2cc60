"""Lambda `api`: answers HTTP requests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.logging import correlation_paths

import domains
from daicho.book import Book
from daicho.domain import Daicho
from daicho.plan import Ledger
from daicho.settings import Settings
from daicho.table import open_table
from daicho.web.api import Api
from handlers.consumer import Handler


def build(environ: Mapping[str, str], daicho: Daicho | None = None) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ)
    table = open_table(settings.table_name)
    known = Daicho.discover(domains) if daicho is None else daicho
    ledger = known.locked(Ledger.load())
    api = Api(known, lambda tenant: Book(table, ledger, tenant), server=settings.api_url)
    logger, metrics, tracer = Logger("daicho"), Metrics(), Tracer()
    logged = logger.inject_lambda_context(correlation_id_path=correlation_paths.API_GATEWAY_HTTP)
    measured = metrics.log_metrics(capture_cold_start_metric=True)
    handler: Handler = tracer.capture_lambda_handler(logged(measured(api)))
    return handler


@cache
def __getattr__(name: str) -> Handler:
    """Build ``handler`` when it is asked for: Lambda does so at its init, an import does not."""
    if name != "handler":
        raise AttributeError(name)
    return build(os.environ)
