"""A stack whose operators work on it: a projector, the redrive and the operators' API.

The table is Dynoxide's, the failure bucket in memory. A house in memory writes the stream. The
state machine does a job's steps at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.cdk.functions.grants import OPS
from daicho.handlers import ops, project, redrive
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.local import ops as local_ops
from daicho.local import project as local_project
from daicho.runtime.token_claims import OPERATOR
from daicho.storage.attributes import get_key
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from tests.support.api_client import Client
from tests.support.consistency import differences
from tests.support.redrive_setup import House
from tests.support.sample_ledger import LEDGER
from tests.support.stream_pump import Context, environment

CLAIMS = {"sub": "olga", "cognito:groups": [OPERATOR]}
NAMES = {
    "PROJECT_FUNCTION": "project",
    "ARCHIVE_FUNCTION": "archive",
    "AUDIT_FUNCTION": "audit",
    "ARCHIVE_BUCKET": "archive",
    "DASHBOARD": "https://dashboard.test",
}


@dataclass
class StepMachine:
    """The state machine of jobs: each execution runs to its end before it is answered.

    ``is_paused``: executions wait in ``started`` until they are run.
    """

    run_step: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    is_paused: bool = False
    started: list[Mapping[str, Any]] = field(default_factory=list)

    def start(self, _name: str, given: Mapping[str, Any]) -> None:
        """Start an execution."""
        self.started.append(given)
        if not self.is_paused:
            self.run()

    def run(self) -> None:
        """Run what was started."""
        while self.started:
            given = self.started.pop()
            while not self.run_step(given)["done"]:
                pass


@dataclass
class FakeStarter:
    """A function that is started."""

    started: list[Mapping[str, Any]] = field(default_factory=list)

    def start(self, event: Mapping[str, Any]) -> None:
        """Start it."""
        self.started.append(event)


class StackItemsOnly:
    """A client that refuses keys of tenants, as the condition on leading keys does on AWS."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)
        return lambda **request: call(**self._check(name, request))

    def _check(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        match name:
            case "get_item" | "update_item":
                key = request["Key"]["PK"]
            case "put_item":
                key = request["Item"]["PK"]
            case "query":
                key = request["ExpressionAttributeValues"][":pk"]
            case _:
                raise AssertionError(f"{name} is not granted")
        assert key["S"].startswith(OPS.leading_keys.removesuffix("*")), key
        return request


class OperatorStack:
    """The functions over one table and one bucket, at ``stage``."""

    def __init__(
        self, dynamodb: DynamoDBClient, table_name: str, objects: Any, stage: str = "local"
    ) -> None:
        self.dynamodb, self.objects, self.house = dynamodb, objects, House()
        self.table = Table(dynamodb, table_name)
        self.environ = environment(table_name, **{**NAMES, "STAGE": stage})
        self.machine = StepMachine(self._run_redrive)
        self.auditor: Any = FakeStarter()
        machine: Any = self.machine
        guarded: Any = StackItemsOnly(dynamodb)
        self.operator_table = Table(guarded, table_name)
        self.dependencies = Dependencies(
            table=lambda *_, **__: self.table,
            bucket=lambda name, **_: Bucket(objects, name),
            machine=lambda _: machine,
            now=lambda: self.house.now,
            sleep=lambda _: None,
            parallelism=1,
        )

    def build(self, **changed: Any) -> Handler:
        """The operators' API; ``changed``: dependencies."""
        table = {"table": lambda *_, **__: self.operator_table}
        dependencies = replace(self.dependencies, **{**table, **changed})
        build = local_ops.build if self._is_local else ops.build
        return build(self.environ, LEDGER, dependencies, auditor=self.auditor)

    def client(self, tenant: str | None = None, **claims: str) -> Client:
        """An operator, unless there are other claims."""
        return Client(self.build(), tenant, {**CLAIMS, **claims})

    def project(self, begin: int = 0, end: int | None = None) -> None:
        """Write the items of the house, and hand a stretch of its stream to the projector."""
        base = {key: item for key, item in self.house.items.items() if "type" in item}
        existing = {key for key, item in self.items().items() if "type" in item}
        self.table.batch_write(base.values(), existing - base.keys())
        build = local_project.build if self._is_local else project.build
        handler = build(self.environ, LEDGER, self.dependencies)
        event = self.house.event(begin, len(self.house.records) if end is None else end)
        assert handler(event, Context()) == {"state": {}, "batchItemFailures": []}

    def discard(self, begin: int, end: int) -> None:
        """Let Lambda give a stretch of the stream up."""
        name = self.house.discard(begin, end)
        body = self.house.objects.stored[name].body
        self.objects.put_object(Bucket="failures", Key=name, Body=body)

    def items(self) -> dict[Any, Any]:
        """All items of the table."""
        found = self.dynamodb.scan(TableName=self.table.name, ConsistentRead=True)["Items"]
        return {get_key(item): item for item in found}

    def differences(self) -> list[str]:
        """How the derived state differs from what the base items give."""
        return differences(self.items())

    @property
    def _is_local(self) -> bool:
        return self.environ["STAGE"] == "local"

    def _run_redrive(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        handler = redrive.build(self.environ, LEDGER, self.dependencies)
        return handler(given, Context())
