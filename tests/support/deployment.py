"""The deployed functions over a table of Dynoxide: API, projector, rollup and archive's filter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.handlers import api, project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.plan import Ledger
from daicho.storage.table import Table
from tests.support.api_client import STAFF, Client
from tests.support.dynoxide import create_table
from tests.support.stream_pump import Consumer, Context, Pump, environment


@dataclass
class Served:
    """What a deployment serves, and its stream, which moves when it is told to."""

    dynamodb: DynamoDBClient
    table: Table
    handler: Handler
    pump: Pump
    rollup: Any
    domain_package: str
    ledger: Ledger

    def client(self, tenant: str | None = "acme", **claims: str) -> Client:
        """A client with a token of ``tenant``, and of the staff unless there are other claims."""
        return Client(self.handler, tenant, {**STAFF, **claims})

    def build_api(self, dependencies: Dependencies) -> Handler:
        """Another instance of the API's function, over the same table."""
        settings = environment(self.table.name, DOMAIN_PACKAGE=self.domain_package)
        return api.build(settings, self.ledger, dependencies)

    def catch_up(self) -> None:
        """Let projector and rollup do all that there is to do."""
        self.pump.run()
        while self.rollup({}, Context())["rolled"]:
            pass

    def count(self) -> int:
        """How many items stand in the table."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.table.name)
        return sum(page["Count"] for page in pages)


@contextmanager
def serving_on(
    dynamo: str,
    dynamodb: DynamoDBClient,
    domain_package: str = "domains",
    ledger: Ledger | None = None,
) -> Iterator[Served]:
    """A deployment over a fresh table: of the project's own domains, or of another package's."""
    name = create_table(dynamodb)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", dynamo)
        patch.setenv("POWERTOOLS_TRACE_DISABLED", "true")
        patch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
        patch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
        settings = environment(name, DOMAIN_PACKAGE=domain_package)
        ledger = ledger or Ledger.load()
        projector = Consumer(project.build(settings, ledger), ledger.derived_types)
        yield Served(
            dynamodb,
            Table(dynamodb, name),
            api.build(settings, ledger),
            Pump(dynamodb, dynamo, name, [projector]),
            rollup.build(settings, ledger),
            domain_package,
            ledger,
        )
    dynamodb.delete_table(TableName=name)
