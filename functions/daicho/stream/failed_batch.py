"""The object that Lambda writes to the on-failure bucket when it gives up a batch: pure.

The object is JSON with ``requestContext`` (the function, and why the batch was given up),
``DDBStreamBatchInfo`` (the shard, and the first and last number) and ``payload``, the whole event.
Its name is ``aws/lambda/<mapping>/<shard>/YYYY/MM/DD/YYYY-MM-DDTHH.MM.SS-<random>``.
Source: "Retain discarded records for a DynamoDB event source in Lambda", AWS Lambda Developer
Guide.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from daicho.errors import DaichoError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.stream.records import Batch, StreamRecord

JSON_CONTENT_TYPE = "application/json"
ON_FAILURE_PREFIX = "aws/lambda/"
DONE_PREFIX = "done/"
_SHARD = 3
_RANDOM_PARTS = 5
"""Groups of a UUID, at the end of the name."""


class UnreadableBatchError(DaichoError):
    """An object that is no batch written by Lambda."""


@dataclass(frozen=True)
class OnFailureRecord:
    """A batch that Lambda gave up. ``function``: the function that should have done it."""

    name: str
    function: str
    condition: str
    shard: str
    first: str
    last: str
    at: str
    event: Mapping[str, Any]

    @classmethod
    def parse(cls, name: str, body: bytes) -> OnFailureRecord:
        """Read an object.

        Raises:
            UnreadableBatchError: it is something else.
        """
        try:
            document = json.loads(body)
            request, batch_info, payload = (
                document[part] for part in ("requestContext", "DDBStreamBatchInfo", "payload")
            )
            if batch_info["shardId"] != parse_shard(name):
                raise ValueError(batch_info["shardId"])
            return cls(
                name=name,
                function=request["functionArn"].split(":function:")[1].split(":")[0],
                condition=request["condition"],
                shard=batch_info["shardId"],
                first=batch_info["startSequenceNumber"],
                last=batch_info["endSequenceNumber"],
                at=document["timestamp"],
                event=json.loads(payload) if isinstance(payload, str) else payload,
            )
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise UnreadableBatchError(f"{name} holds no discarded batch: {error!r}") from error

    def parse_batch(self, *, emulated: bool) -> Batch:
        """Its records. The event of a mapping without a window would not name the shard.

        Raises:
            EventError: no records of a table's stream.
        """
        return Batch.parse({**self.event, "shardId": self.shard}, emulated=emulated)

    @property
    def summary(self) -> dict[str, str]:
        """The object as a report shows it."""
        shown = ("name", "function", "condition", "shard", "first", "last", "at")
        return {name: getattr(self, name) for name in shown}


def build_own_batch(
    function: str, records: Sequence[StreamRecord], condition: str
) -> tuple[str, bytes]:
    """The name and the content of an object with records that a function sets aside itself.

    It is as one of Lambda, so a redrive applies it. A repeat has the same name.
    """
    first, last = records[0], records[-1]
    at, shard = first.made_at, first.shard
    id = uuid.uuid5(uuid.NAMESPACE_URL, f"{shard}/{first.seq}/{last.seq}/{condition}")
    name = f"{ON_FAILURE_PREFIX}own/{shard}/{at:%Y/%m/%d}/{at:%Y-%m-%dT%H.%M.%S}-{id}"
    document = {
        "requestContext": {"functionArn": f"arn::function:{function}", "condition": condition},
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S.000Z}",
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": first.number,
            "endSequenceNumber": last.number,
        },
        "payload": {"Records": [record.raw for record in records]},
    }
    return name, json.dumps(document, ensure_ascii=False).encode()


def parse_group_name(name: str) -> str:
    """The part of an object's name that holds its mapping, shard and second.

    Names sort by it, and a shard's batches are given up one after the other; within one second
    the rest of the name is random.
    """
    head, slash, tail = name.rpartition("/")
    return f"{head}{slash}{tail.rsplit('-', _RANDOM_PARTS)[0]}"


def parse_shard(name: str) -> str:
    """The shard in an object's name; "" if the name holds none."""
    parts = name.split("/")
    return parts[_SHARD] if len(parts) > _SHARD + 1 else ""


def render_done_name(name: str) -> str:
    """The name that an object gets when all of its records are done."""
    return f"{DONE_PREFIX}{name}"


@dataclass(frozen=True)
class TenantSplit:
    """An object's document, the tenant's records in it, and the document without them.

    ``shard``: the stream shard that its records are of. ``rest`` None: nothing is left.
    """

    shard: str
    records: tuple[Mapping[str, Any], ...]
    rest: bytes | None


def split_by_tenant(body: bytes, tenant: str) -> TenantSplit:
    """Split a document: a quarantined record, or a batch that was given up.

    Any other document has no record that can be attributed to the tenant.
    """
    nothing = TenantSplit("", (), body)
    try:
        document = json.loads(body)
        if "record" in document:
            (mine, others) = _split_records([document["record"]], tenant)
            return TenantSplit(document["shard"], tuple(mine), None) if mine else nothing
        payload = document["payload"]
        event = json.loads(payload) if isinstance(payload, str) else payload
        mine, others = _split_records(event["Records"], tenant)
        shard = document["DDBStreamBatchInfo"]["shardId"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return nothing
    if not mine:
        return nothing
    if not others:
        return TenantSplit(shard, tuple(mine), None)
    left: Any = {**event, "Records": others}
    kept = json.dumps(left, ensure_ascii=False) if isinstance(payload, str) else left
    rest = json.dumps({**document, "payload": kept}, ensure_ascii=False).encode()
    return TenantSplit(shard, tuple(mine), rest)


def _split_records(records: Sequence[Any], tenant: str) -> tuple[list[Any], list[Any]]:
    """The tenant's records, and all others."""
    whose = keys.render_prefix(tenant)
    mine = [record for record in records if record["dynamodb"]["Keys"]["PK"]["S"].startswith(whose)]
    return mine, [record for record in records if record not in mine]
