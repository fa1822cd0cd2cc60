"""A client of DynamoDB for the requests of one tenant: it sends none about items of another one.

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
    """A client of DynamoDB that refuses requests with a partition key of another tenant.

    ``shared``: partition keys that are no tenant's own.
    """

    def __init__(self, client: Any, tenant: str, shared: frozenset[str]) -> None:
        self._client, self._tenant, self._shared = client, tenant, shared
        self._own = keys.render_prefix(tenant)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _LISTERS:  # also a copy that is made without `__init__`
            raise AttributeError(name)
        client, own, shared, list_partitions = self._client, self._own, self._shared, _LISTERS[name]

        def send_own(**parameters: Any) -> Any:
            for partition in list_partitions(parameters):
                if not partition.startswith(own) and partition not in shared:
                    raise ForeignPartitionError(
                        f"{name} for the tenant {self._tenant} names the partition {partition}"
                    )
            return getattr(client, name)(**parameters)

        self.__dict__[name] = send_own  # found without this method from now on
        return send_own


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
"""By request: the partition keys in it. Whatever is not in here has no place in a tenant's request,
such as a scan."""
