"""The deployed functions over a table of Dynoxide: API, projector, rollup and archive's filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.declare.subscribers import Subscriber
from daicho.handlers import api, project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image
from daicho.storage.bucket import Bucket
from daicho.storage.requests import Scan
from daicho.storage.table import Table
from daicho.testing import MemoryDeployment
from daicho.testing.stack_settings import NO_SUBSCRIBERS
from tests.support.api_client import STAFF, Client
from tests.support.dynoxide import create_table
from tests.support.memory_stores import SigningS3
from tests.support.stream_pump import Consumer, Context, Pump, environment


@dataclass
class Served:
    """What a deployment serves, and its stream, which moves when it is told to."""

    dynamodb: DynamoDBClient
    table: Table
    handler: Handler
    domain_package: str
    ledger: Ledger
    catch_up: Callable[[], None]
    """Lets projector and rollup do all that there is to do."""

    def client(self, tenant: str | None = "acme", **claims: str) -> Client:
        """A client with a token of ``tenant``, and of the staff unless there are other claims."""
        return Client(self.handler, tenant, {**STAFF, **claims})

    def build_api(self, dependencies: Dependencies, **variables: str) -> Handler:
        """Another instance of the API's function, over the same table."""
        settings = environment(self.table.name, DOMAIN_PACKAGE=self.domain_package, **variables)
        return api.build(settings, self.ledger, dependencies)

    def list_items(self) -> list[Image]:
        """Every item of the table."""
        page = self.table.scan(Scan())
        items = [*page.items]
        while page.last:
            page = self.table.scan(Scan(start=page.last))
            items += page.items
        return items


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
        pump = Pump(dynamodb, dynamo, name, [projector])
        roll_up = rollup.build(settings, ledger)

        def catch_up() -> None:
            pump.run()
            while roll_up({}, Context())["rolled"]:
                pass

        handler = api.build(settings, ledger)
        yield Served(dynamodb, Table(dynamodb, name), handler, domain_package, ledger, catch_up)
    dynamodb.delete_table(TableName=name)


@contextmanager
def serving_in_memory(
    domain_package: str, ledger: Ledger, subscribers: Mapping[str, Subscriber] = NO_SUBSCRIBERS
) -> Iterator[Served]:
    """The same over a table in memory: for tests that send many requests, one after another."""
    deployment = MemoryDeployment(ledger, start=utc_now(), subscribers=subscribers)
    client: Any = deployment._dynamodb
    objects: Any = SigningS3(deployment.clock.now)
    table = deployment.table
    bucket = Bucket(objects, "objects")
    dependencies = Dependencies(
        table=lambda *_, **__: table, bucket=lambda *_, **__: bucket, parallelism=1
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
        settings = environment(table.name, DOMAIN_PACKAGE=domain_package)
        handler = api.build(settings, ledger, dependencies)
        yield Served(client, table, handler, domain_package, ledger, deployment.catch_up)
