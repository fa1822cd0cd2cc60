"""Whether a session policy of a tenant would allow a request: IAM's condition on leading keys.

The policy that is evaluated, for each action on the table and its indexes::

    "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["acme#*", …]}}

The values of the condition key are the partition keys in the request: of the table, or of the index
that is queried. A batch has the keys of all its items. Each action in a transaction is authorized
by itself. ``ForAllValues`` holds for a request without any key, so the policy grants no `Scan`.
Source: "Using IAM policy conditions for fine-grained access control", DynamoDB Developer Guide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from daicho.layout.backfill_state import BACKFILL
from daicho.tally.watermark import WATERMARK_KEY

ACTIONS = {"get_item": "GetItem", "put_item": "PutItem", "update_item": "UpdateItem"} | {
    "delete_item": "DeleteItem",
    "query": "Query",
}
STACKS_OWN = (BACKFILL, WATERMARK_KEY.pk)
"""Items without a tenant that requests of tenants need: the state of each entity's generations, and
the moment up to which figures count."""


@dataclass(frozen=True)
class Authorization:
    """What IAM judges: an action, and the partition keys in its request."""

    action: str
    leading_keys: tuple[str, ...]

    def is_allowed(self, tenant: str) -> bool:
        """Whether the session policy of a tenant allows it."""
        patterns = (f"{tenant}#*", f"#tenant#{tenant}", *STACKS_OWN)
        return self.action != "Scan" and all(
            any(fnmatchcase(key, pattern) for pattern in patterns) for key in self.leading_keys
        )


def list_authorizations(method: str, request: Mapping[str, Any]) -> Iterator[Authorization]:
    """What a request of botocore's client needs."""
    match method:
        case "query":
            yield Authorization("Query", (request["ExpressionAttributeValues"][":pk"]["S"],))
        case "scan":
            yield Authorization("Scan", ())
        case "batch_get_item":
            (batch,) = request["RequestItems"].values()
            yield Authorization("BatchGetItem", tuple(key["PK"]["S"] for key in batch["Keys"]))
        case "batch_write_item":
            (writes,) = request["RequestItems"].values()
            items = [write.get("PutRequest", {}).get("Item") for write in writes]
            keys = [write.get("DeleteRequest", {}).get("Key") for write in writes]
            found = tuple(each["PK"]["S"] for each in (*items, *keys) if each)
            yield Authorization("BatchWriteItem", found)
        case "transact_write_items":
            for item in request["TransactItems"]:
                ((name, write),) = item.items()
                action = {"ConditionCheck": "ConditionCheckItem"}.get(name, f"{name}Item")
                yield Authorization(action, (write.get("Item", write.get("Key"))["PK"]["S"],))
        case _:
            item = request.get("Item", request.get("Key"))
            yield Authorization(ACTIONS[method], (item["PK"]["S"],))


@dataclass
class RecordingClient:
    """A client of DynamoDB that keeps what its requests need, by the tenant they are sent for."""

    client: Any
    tenant: str = ""
    needed: dict[str, dict[Authorization, int]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in ("client", "__setstate__"):  # a copy is made without `__init__`
            raise AttributeError(name)
        method = getattr(self.client, name)

        def send(**request: Any) -> Any:
            counts = self.needed.setdefault(self.tenant, {})
            for authorization in list_authorizations(name, request):
                counts[authorization] = counts.get(authorization, 0) + 1
            return method(**request)

        return send

    def list_refused(self) -> list[tuple[str, Authorization]]:
        """What the session policies would have refused, with the tenant of the request."""
        return [
            (tenant, each)
            for tenant, counts in self.needed.items()
            for each in counts
            if not each.is_allowed(tenant)
        ]

    def count_keys(self) -> tuple[int, Counter[str]]:
        """How many keys were a tenant's own, and how many of the others by their partitions."""
        own, shared = 0, Counter[str]()
        for counts in self.needed.values():
            for authorization, count in counts.items():
                for key in authorization.leading_keys:
                    if key.startswith("#"):
                        shared["#".join(key.split("#")[:2])] += count
                    else:
                        own += count
        return own, shared
