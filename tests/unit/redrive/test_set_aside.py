"""What was set aside, as operators see it."""

from __future__ import annotations

import json

import pytest

from daicho.errors import BadCursor, NotFound
from daicho.redrive.claim_ids import parse_claim_id
from daicho.redrive.set_aside import SetAsideRecord, SetAsideRecords
from daicho.runtime.retry import make_mapper
from daicho.stream import claims
from tests.support.mortal_stores import Turns
from tests.support.redrive_setup import (
    SHARD,
    House,
    house,
    render_number,
    retry_budget,
    write_a_day,
)

__all__ = ["house"]


def open_records(house: House, threads: int = 1) -> SetAsideRecords:
    table, bucket = house.stores(Turns())
    return SetAsideRecords(table, bucket, "project", "archive", map_all=make_mapper(threads))


def list_all(house: House, limit: int) -> list[SetAsideRecord]:
    records, cursor, found = open_records(house), None, list[SetAsideRecord]()
    while True:
        page = records.list(retry_budget(), cursor, limit)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


def set_aside(house: House) -> None:
    """Claims on 2, 3 and 6, discarded records 0 and 1, a batch of the archiver, an unknown one."""
    write_a_day(house)
    house.project(2)
    house.discard(0, 2)
    house.now += house.now.resolution
    house.discard(4, 5, "archive")
    house.objects.put_object(Key=f"aws/lambda/m/{SHARD}/2026/11/22/x-1-2-3-4-5", Body=b"{}")


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 50])
def test_pages_of_every_size_list_each_record_once(house: House, limit: int) -> None:
    set_aside(house)
    found = list_all(house, limit)
    assert [each.seq for each in found if each.seq] == [
        *map(render_number, (2, 3, 6)),
        *map(render_number, (0, 1)),
    ]
    assert [each.phase for each in found] == ["claims"] * 3 + ["discarded"] * (len(found) - 3)
    objects = [each for each in found if not each.seq]
    assert [each.id for each in objects] == [None, None]
    assert any("archiver" in each.error["message"] for each in objects)
    assert any("no discarded batch" in each.error["message"] for each in objects)


def test_a_record_in_full_has_both_images_and_its_error(house: House) -> None:
    set_aside(house)
    shown = list_all(house, 50)[0].to_json()
    assert shown == {
        "id": shown["id"],
        "shard": SHARD,
        "seq": render_number(2),
        "state": "open",
        "phase": "claims",
        "entity": "Song",
        "item": ["t#Song#1", "-"],
        "tenant": "t",
        "error": {
            "type": "ArithmeticError",
            "message": "record 100 is too much for this code",
            "generation": 2,
        },
        "at": "2026-11-21T00:00:00.000000Z",
    }
    record = open_records(house).get(parse_claim_id(shown["id"]), retry_budget())
    assert record is not None
    in_full = json.loads(json.dumps(record.to_json(in_full=True)))
    assert (in_full["old_image"]["name"], in_full["new_image"]["name"]) == ("ab", "ac")
    assert in_full["record"]["dynamodb"]["SequenceNumber"] == "100"
    discarded = open_records(house).get((SHARD, render_number(1)), retry_budget())
    assert discarded is not None
    assert (discarded.state, discarded.record and discarded.record.number) == ("discarded", "99")


def test_a_record_that_is_not_set_aside_is_not_found(house: House) -> None:
    set_aside(house)
    records = open_records(house)
    assert records.get((SHARD, render_number(7)), retry_budget()) is None
    assert records.get(("nowhere", render_number(2)), retry_budget()) is None
    with pytest.raises(NotFound, match=f"{SHARD}/.*107"):
        records.add_older([(SHARD, render_number(9)), (SHARD, render_number(2))], retry_budget())
    house.broken.clear()
    house.redrive(claims=[[SHARD, render_number(2)]])
    assert records.get((SHARD, render_number(2)), retry_budget()) is None


def test_a_claim_without_its_payload_is_listed(house: House) -> None:
    set_aside(house)
    house.objects.delete_object(Key=claims.render_payload_name(SHARD, render_number(2)))
    first = list_all(house, 50)[0].to_json(in_full=True)
    assert (first["error"]["type"], first["item"], first["record"], first["tenant"]) == (
        *("MissingPayloadError", None),
        *(None, None),
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_older_records_are_added_and_everything_is_counted(house: House, threads: int) -> None:
    set_aside(house)
    records = open_records(house, threads)
    chosen = records.add_older([(SHARD, render_number(6))], retry_budget())
    assert chosen == {(SHARD, render_number(2)), (SHARD, render_number(6))}
    assert records.count(retry_budget()) == 3 + 3


@pytest.mark.parametrize("cursor", ["", "x", "a#b#c", "claims#x"])
def test_a_wrong_cursor_is_refused(house: House, cursor: str) -> None:
    with pytest.raises(BadCursor):
        open_records(house).list(retry_budget(), cursor)
