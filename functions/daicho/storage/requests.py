"""Requests in the form of DynamoDB's API: no I/O here, and no botocore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key, to_image

_HIGHEST_CHARACTER = "\U0010ffff"
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True)
class KeyRange:
    """Sort keys from ``low`` to ``high``; "" is no bound.

    ``high`` is included unless the range ``is_open``. DynamoDB has no condition with one end
    included and the other excluded, so a reader removes the row at the open end.
    """

    low: str = ""
    high: str = ""
    is_open: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether no key is in the range. DynamoDB refuses such a condition."""
        if not self.high:
            return False
        return self.low > self.high or (self.is_open and self.low == self.high)

    def contains(self, key: str) -> bool:
        """Whether a key is in the range."""
        if key < self.low:
            return False
        return not self.high or key < self.high or (key == self.high and not self.is_open)

    def intersect(self, other: KeyRange) -> KeyRange:
        """The keys that are in both ranges."""
        low = max(self.low, other.low)
        if not self.high or not other.high:
            higher = self if self.high else other
            return KeyRange(low, higher.high, higher.is_open)
        if self.high == other.high:
            return KeyRange(low, self.high, self.is_open or other.is_open)
        lower = min(self, other, key=lambda each: each.high)
        return KeyRange(low, lower.high, lower.is_open)


EVERY_KEY = KeyRange()


def cover_components(head: str) -> KeyRange:
    """The keys whose first components are exactly those of ``head``, a rendered key."""
    # The escape sorts right after the delimiter. No key ends with an escape.
    return KeyRange(head, f"{head}{keys.ESCAPE}")


def cover_text(start: str) -> KeyRange:
    """The keys that begin with a text, even within a component.

    An escape is as long as another one, so an escaped value begins with an escaped text only if
    the value begins with the text.
    """
    trunk = start.rstrip(_HIGHEST_CHARACTER)
    if not trunk:
        return KeyRange(start)
    following = ord(trunk[-1]) + 1
    if following in _SURROGATES:
        following = _SURROGATES.stop
    return KeyRange(start, trunk[:-1] + chr(following), is_open=True)


Returns = Literal["ALL_OLD", "ALL_NEW"]
NO_NAMES: Mapping[str, Any] = {}
MAX_TRANSACTION_WRITES = 100
"""The limit of one transaction."""
_BOUNDS = ("prefix", "low", "high", "below")
_KEY_CONDITIONS: Mapping[tuple[str, ...], str] = {
    (): "",
    ("prefix",): " AND begins_with(#sk, :prefix)",
    ("low", "high"): " AND #sk BETWEEN :low AND :high",
    ("low",): " AND #sk >= :low",
    ("high",): " AND #sk <= :high",
    ("below",): " AND #sk < :below",
}
"""The condition of the sort key, by the bounds that a query has."""


@dataclass(frozen=True)
class Query:
    """One item collection, or a stretch of it, of the table or of an index.

    Bounds are of the sort key: ``prefix``, or any of ``low`` and ``high`` (both inclusive), or
    ``below`` (exclusive). ``start`` is the `ItemPage.last` of the previous page.
    """

    partition: str
    index: str | None = None
    prefix: str | None = None
    low: str | None = None
    high: str | None = None
    below: str | None = None
    forward: bool = True
    start: Image | None = None
    limit: int | None = None
    consistent: bool = False
    attributes: tuple[str, ...] = ()
    count_only: bool = False

    def to_request(self) -> dict[str, Any]:
        """The request, but for the table's name."""
        index = self.index or ""
        bound, values = self._key_condition()
        names = {"#pk": f"{index}PK"} | ({"#sk": f"{index}SK"} if bound else {})
        names |= {f"#a{place}": name for place, name in enumerate(self.attributes)}
        request: dict[str, Any] = {
            "KeyConditionExpression": f"#pk = :pk{bound}",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": {":pk": {"S": self.partition}, **values},
            "ScanIndexForward": self.forward,
            "ReturnConsumedCapacity": "TOTAL",
        }
        optional = {
            "IndexName": self.index,
            "ExclusiveStartKey": self.start,
            "Limit": self.limit,
            "ConsistentRead": self.consistent or None,
            "ProjectionExpression": ", ".join(n for n in names if n.startswith("#a")) or None,
            "Select": "COUNT" if self.count_only else None,
        }
        return request | {name: value for name, value in optional.items() if value is not None}

    def _key_condition(self) -> tuple[str, dict[str, AttributeValue]]:
        bounds = {name: value for name in _BOUNDS if (value := getattr(self, name)) is not None}
        condition = _KEY_CONDITIONS.get(tuple(bounds))
        if condition is None:
            raise ValueError("a query has a prefix, or low and high, or below")
        return condition, {f":{name}": {"S": value} for name, value in bounds.items()}


@dataclass(frozen=True)
class ItemPage:
    """One page of a query or a scan. ``last`` is None at the end; ``units`` are read units.

    ``scanned``: how many items were read, before a filter.
    """

    items: tuple[Image, ...]
    count: int
    last: Image | None
    units: float
    scanned: int = 0

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> ItemPage:
        """Read DynamoDB's answer."""
        return cls(
            items=tuple(answer.get("Items", ())),
            count=answer["Count"],
            last=answer.get("LastEvaluatedKey") or None,
            units=answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0),
            scanned=answer.get("ScannedCount", answer["Count"]),
        )


@dataclass(frozen=True)
class Scan:
    """A stretch of the whole table: one of ``segments`` that may be read at once.

    ``start`` is a page's `ItemPage.last`. ``filter`` leaves items out after they were read and paid
    for; ``limit`` counts them all the same. ``index``: an index instead of the table.
    """

    segment: int = 0
    segments: int = 1
    start: Image | None = None
    limit: int | None = None
    consistent: bool = False
    index: str | None = None
    filter: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, AttributeValue] = field(default_factory=dict)

    def to_request(self) -> dict[str, Any]:
        """The request, but for the table's name."""
        optional = {
            "IndexName": self.index,
            "ExclusiveStartKey": self.start,
            "Limit": self.limit,
            "ConsistentRead": self.consistent or None,
            "FilterExpression": self.filter,
            "ExpressionAttributeNames": dict(self.names) or None,
            "ExpressionAttributeValues": dict(self.values) or None,
        }
        return {
            "Segment": self.segment,
            "TotalSegments": self.segments,
            "ReturnConsumedCapacity": "TOTAL",
            **{name: value for name, value in optional.items() if value is not None},
        }


@dataclass(frozen=True)
class Put:
    """Write a whole item, as a part of a transaction."""

    item: Image
    condition: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, AttributeValue] = field(default_factory=dict)

    def to_request(self) -> dict[str, Any]:
        """The action, but for the table's name."""
        return {"Item": self.item, **build_expressions(self.condition, self.names, self.values)}


@dataclass(frozen=True)
class Update:
    """Change an item, or create it where the condition allows, as a part of a transaction."""

    key: ItemKey
    update: str
    condition: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, AttributeValue] = field(default_factory=dict)

    def to_request(self) -> dict[str, Any]:
        """The action, but for the table's name."""
        more = build_expressions(self.condition, self.names, self.values)
        return {"Key": to_key_image(self.key), "UpdateExpression": self.update, **more}


@dataclass(frozen=True)
class Delete:
    """Remove an item, as a part of a transaction."""

    key: ItemKey
    condition: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, AttributeValue] = field(default_factory=dict)

    def to_request(self) -> dict[str, Any]:
        """The action, but for the table's name."""
        more = build_expressions(self.condition, self.names, self.values)
        return {"Key": to_key_image(self.key), **more}


@dataclass(frozen=True)
class ConditionCheck:
    """Require something of an item that is not written, as a part of a transaction."""

    key: ItemKey
    condition: str
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, AttributeValue] = field(default_factory=dict)

    def to_request(self) -> dict[str, Any]:
        """The action, but for the table's name."""
        more = build_expressions(self.condition, self.names, self.values)
        return {"Key": to_key_image(self.key), **more}


Write = Put | Update | Delete | ConditionCheck


InsertOutcome = Literal["inserted", "refused", "throttled"]
"""What became of one item of a batch of inserts. ``refused``: not inserted, for any reason but
throttling; usually an item with its key exists."""
THROTTLED_STATEMENTS = frozenset(
    {"ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError"}
)
"""Codes of a throttled statement. Source: BatchStatementError, Amazon DynamoDB API Reference."""


def build_insert(table: str, item: Image) -> dict[str, Any]:
    """A PartiQL statement that fails if an item with this key exists; all values are parameters."""
    members = ", ".join([f"'{name}': ?" for name in item])
    return {
        "Statement": f'INSERT INTO "{table}" VALUE {{{members}}}',
        "Parameters": list(item.values()),
    }


def read_insert_outcome(response: Mapping[str, Any]) -> InsertOutcome:
    """The outcome of one statement of a batch of inserts."""
    error = response.get("Error")
    if not error:
        return "inserted"
    return "throttled" if error.get("Code") in THROTTLED_STATEMENTS else "refused"


def get_write_key(write: Write) -> ItemKey:
    """The key of the item that a write refers to."""
    return get_key(write.item) if isinstance(write, Put) else write.key


def build_change(
    key: ItemKey,
    changes: Mapping[str, Any],
    condition: str | None = None,
    compared: Mapping[str, Any] = NO_NAMES,
) -> Update:
    """Set attributes to plain values, and remove those that are None.

    ``condition`` may use ``#name`` and ``:name`` of each of them, and of those that are only
    ``compared``.
    """
    sets = [f"#{name} = :{name}" for name, value in changes.items() if value is not None]
    removes = [f"#{name}" for name, value in changes.items() if value is None]
    update = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(removes)}" if removes else "")
    operands = {**changes, **compared}
    names = {f"#{name}": name for name in operands}
    values = to_image({f":{name}": value for name, value in operands.items()})
    return Update(key, update, condition, names, values)


def require_same(
    image: Image, names: Sequence[str]
) -> tuple[str, dict[str, str], dict[str, AttributeValue]]:
    """The condition that attributes of an item are as in an image, with its names and values."""
    terms = [
        f"#{name} = :{name}" if name in image else f"attribute_not_exists(#{name})"
        for name in names
    ]
    values = {f":{name}": image[name] for name in names if name in image}
    return " AND ".join(terms), {f"#{name}": name for name in names}, values


def to_key_image(key: ItemKey) -> dict[str, dict[str, str]]:
    """A key in the form of DynamoDB."""
    return {"PK": {"S": key.pk}, "SK": {"S": key.sk}}


def build_expressions(
    condition: str | None,
    names: Mapping[str, str],
    values: Mapping[str, AttributeValue],
    returns: Returns | None = None,
) -> dict[str, Any]:
    """The condition with its names and values; a refusal returns the old item.

    ``returns``: the item that the answer to a success contains.
    """
    expressions: dict[str, Any] = {}
    if condition is not None:
        expressions["ConditionExpression"] = condition
        expressions["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    if names:
        expressions["ExpressionAttributeNames"] = dict(names)
    if values:
        expressions["ExpressionAttributeValues"] = dict(values)
    if returns:
        expressions["ReturnValues"] = returns
    return expressions


def build_projection(attributes: Sequence[str]) -> dict[str, Any]:
    """The arguments that select attributes of an item."""
    names = {f"#a{place}": name for place, name in enumerate(attributes)}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
