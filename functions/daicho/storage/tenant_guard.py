"""The guard of the requests of one tenant: none about items of another one is sent.

This is the second line of isolation; the first one is that keys are made from the tenant of the
token. It finds what a session policy with ``dynamodb:LeadingKeys`` would find, and index keys of
another tenant in items that are written, before anything is sent (ADR 0198).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daicho.storage import keys

INDEX_KEYS = ("GSI1PK", "GSI2PK", "GSI3PK")
Parameters = Mapping[str, Any]


class ForeignPartitionError(RuntimeError):
    """A defect: code has made a key of another tenant. The request was not sent."""


class TenantGuard:
    """Refuses requests with a partition key of another tenant.

    ``shared``: partition keys that are no tenant's own.
    """

    def __init__(self, tenant: str, shared: frozenset[str]) -> None:
        self._tenant, self._shared = tenant, shared
        self._own = keys.render_prefix(tenant)

    def check(self, name: str, parameters: Parameters) -> None:
        """Judge a request by the name of the client's method.

        Raises:
            ForeignPartitionError: it is about items of another tenant, or it may be.
        """
        list_partitions = _LISTERS.get(name)
        if list_partitions is None:
            raise ForeignPartitionError(f"{name} has no place in a request of {self._tenant}")
        own, shared = self._own, self._shared
        for partition in list_partitions(parameters):
            if not partition.startswith(own) and partition not in shared:
                raise ForeignPartitionError(
                    f"{name} for the tenant {self._tenant} names the partition {partition}"
                )


def _list_of_action(action: Parameters) -> Sequence[str]:
    """Of a request, or a part of one, that names a key or an item, which is in indexes too."""
    item = action.get("Item")
    if item is None:
        return (action["Key"]["PK"]["S"],)
    return [item["PK"]["S"], *(item[name]["S"] for name in INDEX_KEYS if name in item)]


def _list_of_query(query: Parameters) -> Sequence[str]:
    return (query["ExpressionAttributeValues"][":pk"]["S"],)


def _list_of_reads(batch: Parameters) -> Sequence[str]:
    return [key["PK"]["S"] for table in batch["RequestItems"].values() for key in table["Keys"]]


def _list_of_writes(batch: Parameters) -> Sequence[str]:
    writes = (write for writes in batch["RequestItems"].values() for write in writes)
    actions = (action for write in writes for action in write.values())
    return [partition for action in actions for partition in _list_of_action(action)]


def _list_of_transaction(transaction: Parameters) -> Sequence[str]:
    actions = (action for item in transaction["TransactItems"] for action in item.values())
    return [partition for action in actions for partition in _list_of_action(action)]


_LISTERS: Mapping[str, Callable[[Parameters], Sequence[str]]] = {
    **dict.fromkeys(("get_item", "put_item", "update_item", "delete_item"), _list_of_action),
    "query": _list_of_query,
    "batch_get_item": _list_of_reads,
    "batch_write_item": _list_of_writes,
    "transact_write_items": _list_of_transaction,
}
"""By request: the partition keys in it. Whatever is not in here is refused, such as a scan."""
