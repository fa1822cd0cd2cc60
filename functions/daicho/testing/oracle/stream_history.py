"""What the records of a stream show without other data: expirations, restores, finished claims.

It parses keys and marks itself. Only the type of an image is shared with the library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from daicho.storage.attributes import Image, ItemKey
from daicho.testing.aws.table_stream import Record, TableStream

_SHARD_ITEMS = "#shard#"
_CLAIM = "claim#"
_DONE = "done#"
HEARTBEAT = "~heartbeat"
UNDECLARED = "Nobody"
"""A type that schedules write and that no ledger has."""


@dataclass(frozen=True)
class ExpiredItem:
    """A base item that the TTL process has removed.

    Attributes:
        image: the item as it was.
        row: the number of the record, as a restored item names its archived row.
        expired_at: epoch seconds.
    """

    image: Image
    row: str
    expired_at: float


def list_expired_items(stream: TableStream) -> list[ExpiredItem]:
    """The base items that the TTL process has removed, shard by shard in their order."""
    expired = []
    for record in _list_records(stream):
        old = record["dynamodb"].get("OldImage", {})
        if "userIdentity" in record and is_base_item(old):
            change = record["dynamodb"]
            label = record["eventSourceARN"].rpartition("/")[2]
            row = f"{label}#{change['SequenceNumber']:0>40}"
            expired.append(ExpiredItem(old, row, change["ApproximateCreationDateTime"]))
    return expired


def is_base_item(image: Image) -> bool:
    """Whether an image is of an item of an entity. The stack's heartbeats are not."""
    return image.get("type", {}).get("S", UNDECLARED) not in (UNDECLARED, HEARTBEAT)


def list_images(stream: TableStream, key: ItemKey) -> list[Image]:
    """What the item with a key has been, in the order of its changes."""
    changes = (record["dynamodb"] for record in _list_records(stream))
    names = {"PK": {"S": key.pk}, "SK": {"S": key.sk}}
    return [each["NewImage"] for each in changes if each["Keys"] == names and "NewImage" in each]


def find_restored_rows(stream: TableStream) -> dict[str, Image]:
    """The image that the first restore of each row wrote, by the number of the row's record."""
    restored: dict[str, Image] = {}
    for record in _list_records(stream):
        image = record["dynamodb"].get("NewImage", {})
        mark = image.get("_restored", {}).get("M", {})
        if mark and "again" not in mark and mark.get("version") == image.get("version"):
            restored.setdefault(mark["seq"]["S"], image)
    return restored


def find_repeated_claims(stream: TableStream) -> list[str]:
    """The claims that became done more than once: their record was applied again. In a line each.

    A done claim is removed only when nothing shows its record to a redrive any more.
    """
    done: Counter[str] = Counter()
    for record in _list_records(stream):
        change = record["dynamodb"]
        if not change["Keys"]["PK"]["S"].startswith(_SHARD_ITEMS):
            continue
        old, new = change.get("OldImage", {}), change.get("NewImage", {})
        done.update(
            f"{change['Keys']['PK']['S']} {name}"
            for name, value in new.items()
            if name.startswith(_CLAIM) and old.get(name) != value
            if value["S"].startswith(_DONE)
        )
    return [f"applied {times} times: {claim}" for claim, times in done.items() if times > 1]


def _list_records(stream: TableStream) -> Iterator[Record]:
    for shard in stream.shards.values():
        yield from shard.records
