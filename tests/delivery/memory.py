"""A table and a bucket in memory, with just the expressions that the stream path uses.

`tests/integration/test_memory.py` holds the table against a real DynamoDB interface.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from daicho.derive import ItemKey, key_of
from daicho.errors import ConditionFailedError
from daicho.images import AttributeValue, Image
from daicho.requests import NOTHING, Delete, Page, Put, Query, Write, key_image
from daicho.units import Units

CLAUSE = re.compile(r"\b(SET|REMOVE|ADD) (.*?)(?= (?:SET|REMOVE|ADD) |$)")
ABSENT = re.compile(r"attribute_not_exists\(([#\w]+)\)")
THERE = re.compile(r"attribute_exists\(([#\w]+)\)")
COMPARED = re.compile(r"([#\w]+) (<|<=|=) (:\w+)")
ASSIGNED = re.compile(r"([#\w]+) = (?:if_not_exists\(([#\w]+), )?(:\w+)\)?")


class MemoryTable:
    """Items by key. Every operation is atomic, as DynamoDB's are."""

    def __init__(self) -> None:
        self.items: dict[ItemKey, Image] = {}
        self.units = Units()

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        return self.items.get(key)

    def put(
        self,
        item: Image,
        *,
        condition: str | None = None,
        names: Mapping[str, str] = NOTHING,
        values: Mapping[str, AttributeValue] = NOTHING,
    ) -> None:
        self._check(key_of(item), condition, names, values)
        self.items[key_of(item)] = dict(item)

    def update(
        self,
        key: ItemKey,
        update: str,
        *,
        condition: str | None = None,
        names: Mapping[str, str] = NOTHING,
        values: Mapping[str, AttributeValue] = NOTHING,
        returns: str | None = None,
    ) -> Image | None:
        self._check(key, condition, names, values)
        old = self.items.get(key, key_image(key))
        new = dict(old)
        for verb, actions in CLAUSE.findall(update):
            for action in re.split(r", (?![^(]*\))", actions):
                _apply(verb, action, old, new, names, values)
        self.items[key] = new
        return new if returns else None

    def delete(self, key: ItemKey, *, condition: str, values: Mapping[str, AttributeValue]) -> None:
        """For a planted fault only: the stream path deletes nothing."""
        self._check(key, condition, NOTHING, values)
        self.items.pop(key, None)

    def transact(self, writes: Sequence[Write]) -> None:
        for write in writes:
            key = key_of(write.item) if isinstance(write, Put) else write.key
            self._check(key, write.condition, write.names, write.values)
        for write in writes:
            if isinstance(write, Put):
                self.items[key_of(write.item)] = dict(write.item)
            elif isinstance(write, Delete):
                self.items.pop(write.key, None)
            else:
                self.update(write.key, write.update, names=write.names, values=write.values)

    def pages(self, query: Query) -> Iterator[Page]:
        index = query.index or ""
        found = [
            item for item in self.items.values() if item.get(f"{index}PK") == {"S": query.partition}
        ]
        found.sort(key=lambda item: (item[f"{index}SK"]["S"], key_of(item)))
        yield Page(tuple(found), len(found), None, 0.0)

    def _check(
        self,
        key: ItemKey,
        condition: str | None,
        names: Mapping[str, str],
        values: Mapping[str, AttributeValue],
    ) -> None:
        old = self.items.get(key)
        if condition and not any(
            all(_holds(part, old or {}, names, values) for part in each.split(" AND "))
            for each in condition.split(" OR ")
        ):
            raise ConditionFailedError(f"{key}: {condition}", old)


class MemoryBucket:
    """Objects that are only ever created."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, Mapping[str, str]]] = {}

    def create(self, key: str, body: bytes, metadata: Mapping[str, str], kind: str = "") -> bool:
        if key in self.objects:
            return False
        self.objects[key] = (body, metadata)
        return True

    def overwrite(self, key: str, body: bytes, metadata: Mapping[str, str]) -> bool:
        """For a planted fault only: objects are never overwritten."""
        self.objects[key] = (body, metadata)
        return True

    def metadata(self, key: str) -> Mapping[str, str]:
        return self.objects[key][1]


def _holds(
    condition: str, item: Image, names: Mapping[str, str], values: Mapping[str, AttributeValue]
) -> bool:
    if absent := ABSENT.fullmatch(condition):
        return names.get(absent[1], absent[1]) not in item
    if there := THERE.fullmatch(condition):
        return names.get(there[1], there[1]) in item
    compared = COMPARED.fullmatch(condition)
    assert compared, condition
    stored = item.get(names.get(compared[1], compared[1]))
    if stored is None:
        return False
    left, right = _plain(stored), _plain(values[compared[3]])
    return bool({"<": left < right, "<=": left <= right, "=": left == right}[compared[2]])


def _apply(
    verb: str,
    action: str,
    old: Image,
    new: dict[str, AttributeValue],
    names: Mapping[str, str],
    values: Mapping[str, AttributeValue],
) -> None:
    if verb == "SET":
        assigned = ASSIGNED.fullmatch(action)
        assert assigned, action
        name, kept, value = assigned.groups()
        default = values[value]
        new[names.get(name, name)] = old.get(names.get(kept, kept), default) if kept else default
    elif verb == "REMOVE":
        new.pop(names.get(action, action), None)
    else:
        name, value = action.split()
        name = names.get(name, name)
        sum_of = Decimal(old.get(name, {"N": "0"})["N"]) + Decimal(values[value]["N"])
        new[name] = {"N": str(sum_of)}


def _plain(value: AttributeValue) -> Any:
    return Decimal(value["N"]) if "N" in value else value["S"]
