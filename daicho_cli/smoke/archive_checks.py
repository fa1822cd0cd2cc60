"""The archive path: an item expires, DynamoDB's TTL process deletes it, the archive has its row.

DynamoDB deletes an expired item within days, so a run at a deployed stage only begins the check: it
leaves one expired item in a tenant of its own, and a later run looks for its row. The local stack
simulates the TTL process, so the same check takes seconds there.

The archiver is not invoked with an event of our own: the row would have a number that the stream
does not have, and the audit of the archive would report it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.row_format import ArchivedRow
from daicho.declare.queries import ItemRef
from daicho.plan import Ledger
from daicho.query.key_resolver import KeyResolver
from daicho.runtime.clock import utc_now
from daicho.storage.bucket import Bucket
from daicho.storage.item_cache import ItemCache
from daicho.storage.item_key import ItemKey
from daicho.storage.table import Table
from daicho.web.schema import models
from daicho_cli.smoke.calls import SmokeFailure
from daicho_cli.smoke.items import Item
from daicho_cli.smoke.target import Target

EXPIRED_SECONDS = 60
"""How long ago the item expires: DynamoDB ignores what expired more than five years ago."""
ARCHIVE_TENANT_SUFFIX = "-archive"
"""Appended to the name of a run: the tenant whose expired item is left for DynamoDB."""


def expire_item(target: Target, ledger: Ledger, tenant: str, item: Item) -> None:
    """Set the end of an item's life to a moment that has passed.

    Raises:
        SmokeFailure: the item is not in the table.
        ClientError, BotoCoreError: DynamoDB refuses.
    """
    table = target.outputs["TableName"]
    client = target.open_client("dynamodb")
    key = _find_key(Table(client, table), ledger, tenant, item)
    try:
        client.update_item(
            TableName=table,
            Key={"PK": {"S": key.pk}, "SK": {"S": key.sk}},
            UpdateExpression="SET #ttl = :past",
            ConditionExpression="attribute_exists(PK)",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues={":past": {"N": str(int(time.time()) - EXPIRED_SECONDS)}},
        )
    except client.exceptions.ConditionalCheckFailedException:
        raise SmokeFailure(f"{item.path} is not in the table as {key.pk} {key.sk}") from None


def read_rows(target: Target, tenant: str, entities: Sequence[str]) -> list[ArchivedRow]:
    """The rows of a tenant in the archive.

    Raises:
        SmokeFailure: an object of the archive cannot be read.
        UnavailableError: S3 does not answer.
    """
    bucket = Bucket(target.open_client("s3"), target.outputs["ArchiveBucketName"])
    broken: list[str] = []
    selection = Selection(tuple(entities), tenant)
    rows = list(ArchiveReader(bucket).read_rows(selection, lambda name, _: broken.append(name)))
    if broken:
        raise SmokeFailure(f"objects of the archive cannot be read: {', '.join(broken)}")
    return rows


def _find_key(table: Table, ledger: Ledger, tenant: str, item: Item) -> ItemKey:
    entity = item.entity
    parts = tuple(
        _read_field(entity.fields_[name].annotation, item.values[name])
        for name in models.list_key_names(entity)
    )
    resolver = KeyResolver(table, ledger, tenant, utc_now, ItemCache(utc_now))
    key = resolver.resolve_key(ItemRef(entity, parts))
    if key is None:
        raise SmokeFailure(f"the key of {item.path} depends on an item that does not exist")
    return key


def _read_field(annotation: Any, value: Any) -> Any:
    """A value of the API as the field has it: a date is text there."""
    return TypeAdapter(annotation).validate_python(value)
