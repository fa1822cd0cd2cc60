"""A client of DynamoDB for the requests of one tenant: it sends none about items of another one.

This is the second line of isolation; the first one is that keys are made from the tenant of the
token. It finds what a session policy with ``dynamodb:LeadingKeys`` would find, and index keys of
another tenant in items that are written, before anything is sent (ADR 0198).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from daicho.storage import keys

INDEX_KEYS = ("GSI1PK", "GSI2PK", "GSI3PK")
Parameters = Mapping[str, Any]


class ForeignPartitionError(RuntimeError):
    """A defect: code has made a key of another tenant. The request was not sent."""


class TenantGuard:
    """A client of DynamoDB that refuses requests with a partition key of another tenant.

    ``shared``: partition keys that are no tenant's own.
    """

    def __init__(self, client: Any, tenant: str, shared: frozenset[str]) -> None:
        self._client, self._tenant, self._shared = client, tenant, shared
        self._own = keys.render_prefix(tenant)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _LISTERS:  # also a copy that is made without `__init__`
            raise AttributeError(name)
        send, list_partitions = getattr(self._client, name), _LISTERS[name]

        def send_own(**parameters: Any) -> Any:
            for partition in list_partitions(parameters):
                if not partition.startswith(self._own) and partition not in self._shared:
                    raise ForeignPartitionError(
                        f"{name} for the tenant {self._tenant} names the partition {partition}"
                    )
            return send(**parameters)

        return send_own


def _list_of_item(item: Parameters) -> Iterator[str]:
    yield item["PK"]["S"]
    for name in INDEX_KEYS:
        if name in item:
            yield item[name]["S"]


def _list_of_action(action: Parameters) -> Iterator[str]:
    """Of a request or a part of one that names an item or its key."""
    return _list_of_item(action["Item"] if "Item" in action else action["Key"])


def _list_of_query(query: Parameters) -> Iterator[str]:
    yield query["ExpressionAttributeValues"][":pk"]["S"]


def _list_of_reads(batch: Parameters) -> Iterator[str]:
    for table in batch["RequestItems"].values():
        for key in table["Keys"]:
            yield key["PK"]["S"]


def _list_of_writes(batch: Parameters) -> Iterator[str]:
    for writes in batch["RequestItems"].values():
        for write in writes:
            for action in write.values():
                yield from _list_of_action(action)


def _list_of_transaction(transaction: Parameters) -> Iterator[str]:
    for item in transaction["TransactItems"]:
        for action in item.values():
            yield from _list_of_action(action)


_LISTERS: Mapping[str, Callable[[Parameters], Iterator[str]]] = {
    **dict.fromkeys(("get_item", "put_item", "update_item", "delete_item"), _list_of_action),
    "query": _list_of_query,
    "batch_get_item": _list_of_reads,
    "batch_write_item": _list_of_writes,
    "transact_write_items": _list_of_transaction,
}
"""By request: the partition keys in it. Whatever is not in here has no place in a tenant's request,
such as a scan."""
