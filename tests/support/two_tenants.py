"""Two tenants with everything that a tenant may have, and a deployment that deletes one of them."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.handlers import api, jobs, project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import EntityPlan
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key, to_image
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import Claim
from daicho.stream.shard_items import put_claim
from tests.support.api_client import Client
from tests.support.consistency import compute_amounts, compute_rows
from tests.support.derived_state import items_of, make_counted
from tests.support.mortal_stores import Turns, let_end
from tests.support.sample_ledger import build_image
from tests.support.sample_project import DOMAIN_PACKAGE, LEDGER
from tests.support.stream_pump import SHARD, Consumer, Context, Pump, environment

SEQ = "2026-11-01T00:00:00.000#" + "1".zfill(40)
"""Of a stream before the one that the test reads."""
SETTLE = 900
FAILURES, OBJECTS = "failures", "objects"


class Redelivering(Pump):
    """A pump that delivers records once more, out of order, behind newer ones."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.delivered: list[dict[str, Any]] = []

    def _feed(self, records: Sequence[dict[str, Any]], shard: str = SHARD) -> int:
        self.delivered += records
        return super()._feed(records, shard)

    def again(self, chance: random.Random, share: float) -> None:
        """Deliver some stretch of what was delivered before."""
        size = max(1, int(len(self.delivered) * share))
        begin = chance.randrange(max(1, len(self.delivered) - size + 1))
        some = self.delivered[begin : begin + size]
        for at in range(0, len(some), self.batch):
            super()._feed(some[at : at + self.batch])


@dataclass
class Machine:
    """Remembers what was started, by its name."""

    started: dict[str, dict[str, Any]] = field(default_factory=dict)

    def start(self, name: str, given: Any) -> None:
        self.started.setdefault(name, dict(given))


class Deployment:
    """The functions over one table and two buckets."""

    def __init__(self, dynamo: str, dynamodb: DynamoDBClient, name: str, objects: Any) -> None:
        self.now = dt.datetime.now(dt.UTC)
        self.dynamodb, self.table = dynamodb, Table(dynamodb, name)
        self.buckets = {each: Bucket(objects, each) for each in (FAILURES, OBJECTS)}
        self.machine = Machine()
        self.environment = environment(
            name,
            FAILURE_BUCKET=FAILURES,
            OBJECT_BUCKET=OBJECTS,
            SETTLE_SECONDS=str(SETTLE),
            SCAN_UNITS="1000000",
            DOMAIN_PACKAGE=DOMAIN_PACKAGE,
        )
        self.dependencies = self._dependencies(Turns())
        self.api = api.build(self.environment, LEDGER, self.dependencies)
        self.rollup = rollup.build(self.environment, LEDGER, self.dependencies)
        projector = project.build(self.environment, LEDGER, self.dependencies)
        self._consumers = [Consumer(projector, LEDGER.derived_types)]
        self._dynamo = dynamo
        self.skip()

    def skip(self) -> None:
        """What was written up to now counts as delivered."""
        name = self.table.name
        self.pump = Redelivering(self.dynamodb, self._dynamo, name, self._consumers, begin="LATEST")
        self.pump.run()

    def _dependencies(self, turns: Turns) -> Dependencies:
        machine: Any = self.machine
        return Dependencies(
            table=lambda *_, **__: let_end(self.table, turns),
            bucket=lambda name, **__: let_end(self.buckets[name], turns),
            machine=lambda _: machine,
            now=lambda: self.now,
            parallelism=1,
        )

    def client(self, tenant: str, *groups: str) -> Client:
        claims = {"cognito:groups": [*groups]} if groups else {}
        return Client(self.api, tenant, {"sub": "somebody", **claims})

    def catch_up(self) -> None:
        self.pump.run()
        self.rollup({}, Context())

    def step(self, lives: int | None = None) -> dict[str, Any]:
        """A step of the job that was started last, by a process of its own."""
        return self.handle(list(self.machine.started.values())[-1], lives)

    def handle(self, asked: dict[str, Any], lives: int | None = None) -> dict[str, Any]:
        handler = jobs.build(self.environment, dependencies=self._dependencies(Turns(lives)))
        return handler(asked, Context())

    def everything(self) -> dict[ItemKey, Image]:
        return {get_key(item): item for item in items_of(self.dynamodb, self.table.name)}

    def of(self, tenant: str) -> dict[ItemKey, Image]:
        whose = keys.render_prefix(tenant)
        return {key: item for key, item in self.everything().items() if key.pk.startswith(whose)}

    def objects(self) -> dict[str, dict[str, bytes]]:
        """All versions of all objects by bucket and name, as they are read."""
        return {
            name: {
                f"{each.name} {'newest' if each.newest else each.id}": found.body
                for each in bucket.list_versions("")
                if not each.removal and (found := bucket.fetch(each.name, each.id))
            }
            for name, bucket in self.buckets.items()
        }


def items_of_all_kinds(tenant: str, count: int, whole: int, chance: random.Random) -> list[Image]:
    """Base items of every entity that is declared, with what they derive: ``whole`` at least.

    ``count`` of each that derives anything; of the others as many as are missing.
    """
    made: list[Image] = []
    others = [each for each in LEDGER.list_types() if each not in LEDGER.derived_types]
    for entity in LEDGER.derived_types:
        made += (_base_item(tenant, entity, number, chance) for number in range(count))
    made += list(derived_of(made))
    more = max(1, (whole - len(made)) // len(others) + 1)
    for entity in others:
        made += (_base_item(tenant, entity, number, chance) for number in range(more))
    return made


def _base_item(tenant: str, entity: str, number: int, chance: random.Random) -> Image:
    current = LEDGER.current_generation(entity)
    values = {
        name: _value(current.plan, name, f"{entity}#{number}", chance)
        for name in sorted(current.plan.fields)
    }
    values["version"] = 1
    return build_image(entity, values, gen=current.number, tenant=tenant, ledger=LEDGER)


def _value(plan: EntityPlan, name: str, unique: str, chance: random.Random) -> Any:
    """A value of a field: a key is unique, by its last part or by all of it."""
    key = plan.key
    if name == key.shards:
        return 8
    last = key.sort[-1:] or key.partition[-1:]
    values: dict[str, Sequence[Any]] = {
        "str": [unique] if name in last else [f"c{each} $" for each in range(20)],
        "int": (1, 2, -1),
        "bool": (False, True),
        "decimal": (Decimal("1.5"), Decimal(2), Decimal("-0.01")),
        "date": ("2026-10-31", "2026-11-01"),
        "datetime": ("2026-10-31T00:00:00.000000Z", "2026-11-01T00:00:00.000000Z"),
        "set": ({"r"}, {"r", "s"}),
    }
    return chance.choice(values.get(plan.fields[name], [["a", {"b": 1}]]))


def derived_of(items: Iterable[Image]) -> Iterator[Image]:
    """What the projector and a rollup would have made of base items, under an earlier number."""
    base = list(items)
    for key, row in compute_rows(base, LEDGER).items():
        index = {"GSI2PK": row.gsi2pk, "GSI2SK": row.gsi2sk}
        yield to_image({"PK": key.pk, "SK": key.sk, "seq": SEQ, **index})
    now = int(dt.datetime.now(dt.UTC).timestamp())
    for tally, amount in compute_amounts(base, LEDGER).items():
        yield from make_counted(tally, amount, LEDGER, SHARD, seq=SEQ, at=now)


def lay_down(deployment: Deployment, tenants: Sequence[str]) -> None:
    """Objects of each tenant, and in the failure bucket records of each, alone and together."""
    table, failures = deployment.table, deployment.buckets[FAILURES]
    records = {each: _record(each, number) for number, each in enumerate(tenants, 7)}
    for tenant, record in records.items():
        for body in (b"one", b"two"):
            deployment.buckets[OBJECTS]._client.put_object(
                Bucket=OBJECTS, Key=f"{tenant}/photos/1", Body=body
            )
        number = record["dynamodb"]["SequenceNumber"]
        seq = f"label#{number.zfill(40)}"
        claim = Claim(seq, "open", "Song", 1, deployment.now)
        put_claim(table, SHARD, claim)
        payload = {"shard": SHARD, "record": record, "error": {}, "at": "2026"}
        name = claims.render_payload_name(SHARD, seq)
        for at in ("2026", "2027"):
            text = json.dumps({**payload, "at": at}).encode()
            failures._client.put_object(Bucket=FAILURES, Key=name, Body=text)
        failures.create(f"done/{name}0", json.dumps(payload).encode(), {}, "application/json")
        put = {"tally": f"{tenant}#+Song.x#1", "numbers": {number}}
        key = {"PK": "#recount", "SK": f"{tenant}#+Song.x#1"}
        table.put(to_image({**key, **put}))
    for place in ("aws/lambda/m/", "done/aws/lambda/m/"):
        batch: Any = {
            "requestContext": {"functionArn": "arn:aws:lambda:r:1:function:p", "condition": "c"},
            "DDBStreamBatchInfo": {"shardId": SHARD},
            "payload": json.dumps({"Records": list(records.values())}),
        }
        name = f"{place}{SHARD}/2026/11/21/2026-11-21T00.00.00-a-b-c-d-e"
        failures.create(name, json.dumps(batch).encode(), {}, "application/json")


def _record(tenant: str, number: int) -> dict[str, Any]:
    item = build_image("Song", {"id": "poison", "title": 1}, tenant=tenant, ledger=LEDGER)
    return {
        "eventName": "INSERT",
        "eventSourceARN": "arn:aws:dynamodb:r:1:table/t/stream/label",
        "dynamodb": {
            "Keys": {"PK": item["PK"], "SK": item["SK"]},
            "NewImage": item,
            "SequenceNumber": str(number),
            "ApproximateCreationDateTime": 1,
        },
    }
