"""What a listing's rows copy, and when a row has to be written again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho.derive import derived_items
from daicho.derive.derived_items import (
    COPY_ATTRIBUTE,
    MAX_COPY_BYTES,
    IndexRow,
    is_too_large,
    read_copy,
    write_copy,
)
from daicho.layout import item_keys
from daicho.storage.attributes import Image, ItemKey
from tests.support.sample_ledger import LEDGER, build_image

ORDER = LEDGER.current_generation("Order").plan
VALUES: dict[str, Any] = {
    "customer": "c",
    "id": "1",
    "rank": 3,
    "status": "open",
    "tags": {"b", "a"},
    "note": "n",
}


def compute_rows(values: dict[str, Any]) -> dict[str, IndexRow]:
    found = derived_items.compute_index_rows(ORDER, build_image("Order", values))
    return {key.sk: row for key, row in found.items()}


def test_only_a_change_of_what_is_copied_changes_a_row() -> None:
    before = compute_rows(VALUES)
    assert {name for name, row in before.items() if row.copy} == {"tagged#1#a", "tagged#1#b"}
    assert compute_rows({**VALUES, "note": "other"}) == before
    after = compute_rows({**VALUES, "status": "shipped"})
    assert {name for name in after if after[name] != before[name]} == {"tagged#1#a", "tagged#1#b"}
    assert read_copy(after["tagged#1#a"].copy or "") == {
        "id": {"S": "1"},
        "status": {"S": "shipped"},
    }


def test_a_row_reads_what_it_wrote() -> None:
    key = ItemKey("p", "s")
    for row in compute_rows(VALUES).values():
        assert IndexRow.from_item(row.to_item(key)) == row
    assert COPY_ATTRIBUTE not in IndexRow("a", "b").to_item(key)


def test_copies_are_alike_if_what_they_hold_is() -> None:
    one: Image = {"b": {"SS": ["y", "x"]}, "a": {"N": "1"}, "ttl": {"N": "5"}, "c": {"S": "no"}}
    other: Image = {"ttl": {"N": "5"}, "a": {"N": "1"}, "b": {"SS": ["x", "y"]}}
    copy = write_copy(one, ("a", "b", "absent"))
    assert copy == write_copy(other, ("b", "a"))
    assert read_copy(copy or "") == other
    assert write_copy(one, ()) is None


def test_a_copy_that_could_never_be_written_is_not_computed() -> None:
    listing = replace(ORDER.listings[1], copies=("id", "note"))
    plan = replace(ORDER, listings=(listing,))
    fits = {**VALUES, "note": "n" * (MAX_COPY_BYTES - 50)}
    assert len(derived_items.compute_index_rows(plan, build_image("Order", fits))) == 2
    for text in ("n" * MAX_COPY_BYTES, "語" * (MAX_COPY_BYTES // 3)):
        with pytest.raises(item_keys.UnderivableError, match=r"Order\.tagged copies over") as error:
            derived_items.compute_index_rows(plan, build_image("Order", {**VALUES, "note": text}))
        assert error.value.field == "note"
    assert not is_too_large("語" * (MAX_COPY_BYTES // 3 - 1))
