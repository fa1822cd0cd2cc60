"""Makes MiniStack's queries read a page instead of a partition.

MiniStack sorts a whole partition for each page, and evaluates the condition for each of its items.
Here the keys of each partition that is queried stay sorted. MiniStack's own query then gets a table
with only the items of the page. So its answer is the same.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

CONDITION = re.compile(
    r"#pk = :pk( AND (begins_with\(#sk, :prefix\)"
    r"|#sk (BETWEEN :low AND :high|>= :low|<= :high|< :below)))?"
)
"""The key conditions that `daicho.storage` sends; other queries are left as they are."""
FEW = 25
"""Partitions of at most so many items are left as they are."""
Key = tuple[str, ...]
"""A sort key in the table or in an index, and the key in the table."""
Partition = tuple[str, str, str]
"""The id of a table, the name of an index ("" is the table), and a partition key in it."""


class SortedPartitions:
    """The sorted keys of the long partitions that were queried."""

    def __init__(self, dynamodb: Any) -> None:
        self._dynamodb, self._query = dynamodb, dynamodb._query
        self._keys: dict[Partition, list[Key]] = {}
        set_item, remove_item = dynamodb._set_item, dynamodb._remove_item
        replace_items = dynamodb._items_replaced

        def _set_item(table: Any, pk: str, sk: str, item: Any) -> Any:
            old = set_item(table, pk, sk, item)
            self._move(table, (pk, sk), old, item)
            return old

        def _remove_item(table: Any, pk: str, sk: str) -> Any:
            old = remove_item(table, pk, sk)
            self._move(table, (pk, sk), old, None)
            return old

        def _items_replaced(table: Any) -> None:
            replace_items(table)
            self._keys = {at: keys for at, keys in self._keys.items() if at[0] != table["TableId"]}

        dynamodb._set_item, dynamodb._remove_item = _set_item, _remove_item
        dynamodb._items_replaced, dynamodb._query = _items_replaced, self.query

    def query(self, data: Any) -> Any:
        """Answer a query, from a table with only the items of the page if that is possible."""
        try:
            table = self._narrow(data)
        except (KeyError, TypeError):  # the request is wrong: MiniStack describes how
            table = None
        if table is None:
            return self._query(data)
        tables = {**self._dynamodb.__dict__, "_tables": {data["TableName"]: table}}
        return FunctionType(self._query.__code__, tables)(data)

    def _move(self, table: Any, key: tuple[str, str], old: Any, new: Any) -> None:
        before, after = (set(self._locate(table, key, item)) for item in (old, new))
        for partition, place in before ^ after:
            if (keys := self._keys.get(partition)) is None:
                continue
            number = bisect_left(keys, place)
            if (partition, place) in after:
                keys.insert(number, place)
            else:
                del keys[number]

    def _locate(
        self, table: Any, key: tuple[str, str], item: Any
    ) -> Iterator[tuple[Partition, Key]]:
        """Where an item is in the table and in its indexes, as far as their keys are strings."""
        if item is None:
            return
        yield (table["TableId"], "", key[0]), (key[1], *key)
        for index, hashes, ranges in self._dynamodb._index_key_schemas(table):
            if len(hashes) == 1 and len(ranges) == 1:
                partition, sort = item.get(hashes[0]), item.get(ranges[0])
                if partition and sort and "S" in partition and "S" in sort:
                    yield (table["TableId"], index, partition["S"]), (sort["S"], *key)

    def _narrow(self, data: Any) -> Any:
        """The table with the items of the page; None if the query or its partition is another."""
        dynamodb, index = self._dynamodb, data.get("IndexName") or ""
        table = dynamodb._tables.get(data.get("TableName"))
        if not table or not CONDITION.fullmatch(data.get("KeyConditionExpression", "")):
            return None
        names, values = data["ExpressionAttributeNames"], data["ExpressionAttributeValues"]
        bounds = {name: value.get("S") for name, value in values.items()}
        pk_name, sk_name, _ = dynamodb._resolve_index_keys(table, index)
        are_keys = names["#pk"] == pk_name and names.get("#sk", sk_name) == sk_name
        if not are_keys or None in bounds.values() or "FilterExpression" in data:
            return None
        pk = bounds.pop(":pk")
        keys = self._sort(table, index, pk)
        if keys is None:
            return None
        start, items = data.get("ExclusiveStartKey"), table["items"]
        shown = (sk_name, table["pk_name"], table["sk_name"])
        after = tuple(start[name]["S"] for name in shown) if start else None
        page = keys[select_page(keys, bounds, after, data)]
        if index:
            members = {index: {pk: {key[1:]: None for key in page}}}
            return {**table, dynamodb._INDEX_MEMBERS: members}
        return {**table, "items": {pk: {key[2]: items[pk][key[2]] for key in page}}}

    def _sort(self, table: Any, index: str, pk: str) -> list[Key] | None:
        """The sorted keys of a partition; None if it is short, or they are no strings."""
        partition, items = (table["TableId"], index, pk), table["items"]
        members = self._dynamodb._index_members(table)[index] if index else items
        if len(members.get(pk, ())) <= FEW:
            return None
        if partition not in self._keys:
            located = members[pk] if index else ((pk, sk) for sk in items[pk])
            keys = sorted(
                key
                for member in located
                for at, key in self._locate(table, member, items[member[0]][member[1]])
                if at == partition
            )
            if len(keys) != len(members[pk]):
                return None
            self._keys[partition] = keys
        return self._keys[partition]


def select_page(keys: list[Key], bounds: Mapping[str, str], after: Key | None, data: Any) -> slice:
    """Where the items of a page are: those within the bounds, after a key, up to the limit."""
    begin, end, limit = 0, len(keys), data.get("Limit")
    for name, value in bounds.items():
        if name == ":prefix":
            begin = bisect_left(keys, (value,))
            end = bisect_left(keys, True, begin, key=lambda key: not key[0].startswith(value))
        elif name == ":low":
            begin = bisect_left(keys, (value,))
        else:  # no text is between a text and the one with a null character more
            end = bisect_left(keys, (f"{value}\0" if name == ":high" else value,))
    if data.get("ScanIndexForward", True):
        begin = bisect_right(keys, after, begin) if after else begin
        return slice(begin, min(end, begin + limit) if limit else end)
    end = bisect_left(keys, after, 0, end) if after else end
    return slice(max(begin, end - limit) if limit else begin, end)
