"""What becomes of each kind of item of a deleted tenant, and the tombstones of derived ones."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.layout.retention import FENCED
from daicho.storage.attributes import Image, to_image
from daicho.stream.records import render_sequence
from daicho.tenants.tombstones import DeletionAction, build_tombstone, choose_action

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
LATER = int((NOW + dt.timedelta(hours=72)).timestamp())


def item(pk: str, sk: str = "-", **values: Any) -> Image:
    return to_image({"PK": pk, "SK": sk, **values})


@pytest.mark.parametrize(
    ("stands", "fate"),
    [
        (item("t#Song#1", type="Song", version=1), DeletionAction.GOES),
        (item("t#Message#1", type="Message", ttl=1), DeletionAction.GOES),
        (item("t#Song#1"), DeletionAction.GOES),
        (item("t"), DeletionAction.GOES),
        # What stands beside the entities and is nobody's but the API's.
        (item("t#~request#key", ttl=1, body="…"), DeletionAction.GOES),
        (item("t#~Document#1#-", "a", type="~section"), DeletionAction.GOES),
        (item("t#*Ballot.likes#1#p#3", "ann", items=1), DeletionAction.GOES),
        # What the stream path writes.
        (item("t#~Song#1#-", "x", seq="s", GSI2PK="p", GSI2SK="q"), DeletionAction.FENCED),
        (item("t#~Song#1#-", "x", seq="s", ttl=1, GSI2PK="p", GSI2SK="q"), DeletionAction.FENCED),
        (
            item("t#+Song.count#1", "slot#s", seq="s", rev=1, items=0, total=0),
            DeletionAction.FENCED,
        ),
        (item("t#+Song.count#1", "total", rev=1, items=0, total=0, ttl=1), DeletionAction.FENCED),
        (item("t#*Ballot.likes#1#p#head", "head", rev=4), DeletionAction.FENCED),
        (item("t#~Song#1#-", "x", seq="s", ttl=1), DeletionAction.STAYS),
        (item("t#+Song.count#1", "slot#s", seq=FENCED, rev=2, ttl=1), DeletionAction.STAYS),
    ],
)
def test_each_kind_has_its_fate(stands: Image, fate: DeletionAction) -> None:
    assert choose_action(stands) is fate


def test_a_tombstone_is_behind_every_number_and_only_over_what_was_read() -> None:
    row = build_tombstone(item("t#~Song#1#-", "x", seq="s", GSI2PK="p", GSI2SK="q"), NOW)
    assert row.item == item("t#~Song#1#-", "x", seq=FENCED, ttl=LATER)
    assert (row.condition, row.values) == ("seq = :read", {":read": {"S": "s"}})
    assert choose_action(row.item) is DeletionAction.STAYS
    for label in ("2026-11-21T00:00:00.000", "9999-12-31T23:59:59.999"):
        assert render_sequence(label, "9" * 40) < FENCED

    slot = build_tombstone(item("t#+Song.count#1", "slot#s", seq="s", rev=7, items=1, total=1), NOW)
    assert slot.item == item("t#+Song.count#1", "slot#s", seq=FENCED, rev=8, ttl=LATER)
    assert (slot.condition, slot.values) == ("rev = :read", {":read": {"N": "7"}})
    never = build_tombstone(item("t#+Song.count#1", "slot#s", seq="s"), NOW)
    assert never.condition == "attribute_not_exists(rev)"
    assert never.item["rev"] == {"N": "1"}
