"""What is kept of a request that is done once."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from daicho.errors import Invalid
from daicho.layout.request_records import KEPT_SECONDS
from daicho.storage import attributes
from daicho.storage.requests import ConditionCheck, Put, Update
from daicho.write.idempotency import IdempotentRequest, RequestRecord, StoredAnswer
from tests.support.table_books import NOON

CREATED = StoredAnswer(201, {"ETag": '"1"', "Location": "/notes/1"}, '{"id":"1"}')
LATER = NOON + dt.timedelta(seconds=KEPT_SECONDS)


def asked(
    key: str = "k", method: str = "PUT", path: str = "/n/1", **other: str
) -> IdempotentRequest:
    return IdempotentRequest.from_http(
        key,
        method,
        path,
        {"a": other.get("a", "1")},
        other.get("body", '{"x": 1}'),
        other.get("subject", "mika"),
    )


def build_record(answer: StoredAnswer) -> Put:
    (put,) = asked().build_writes(RequestRecord(asked().build_key("acme")), answer, NOON)
    assert isinstance(put, Put)
    return put


def test_an_answer_comes_back_for_a_day() -> None:
    record = build_record(CREATED)
    assert asked().read_answer(record.item, NOON) == CREATED
    assert asked().read_answer(record.item, LATER - dt.timedelta(seconds=1)) == CREATED
    assert asked().read_answer(record.item, LATER) is None  # whether or not it is deleted yet
    assert asked().read_answer(None, NOON) is None


@pytest.mark.parametrize(
    "other",
    [
        asked(method="DELETE"),
        asked(path="/n/2"),
        asked(path="/n"),
        asked(a="2"),
        asked(body='{"x": 2}'),
        asked(body='{"x": "1"}'),
        asked(body=""),
    ],
)
def test_another_request_under_the_key_is_refused(other: IdempotentRequest) -> None:
    record = build_record(CREATED)
    with pytest.raises(Invalid) as refused:
        other.read_answer(record.item, NOON)
    assert refused.value.field == "Idempotency-Key"
    assert other.read_answer(record.item, LATER) is None


def test_json_may_be_spelt_another_way() -> None:
    bodies = [
        '{"b": [1, {"d": null, "c": "é"}], "a": 0.5}',
        '{"a":0.5,"b":[1,{"c":"\\u00e9","d":null}]}',
    ]
    assert asked(body=bodies[0]) == asked(body=bodies[1])
    assert asked(body="{") != asked(body="{ ")  # what is no JSON is compared as it is
    deep = "[" * 100_000
    assert asked(body=deep) == asked(body=deep)


def test_amounts_that_no_float_tells_apart_are_not_alike() -> None:
    alike = ["0.50", "0.5", "5e-1"]
    assert len({asked(body=f'{{"x": {each}}}') for each in alike}) == 1
    numbers = ["0.1", "0.10000000000000000001", "1e400", "1e500", "-1e400", "1e9999999", '"0.1"']
    assert len({asked(body=f'{{"x": {each}}}') for each in numbers}) == len(numbers)
    assert asked(body='{"x": 1e99999999999999999999999}') == asked(
        body='{"x": 1e99999999999999999999999}'
    )


@pytest.mark.parametrize(
    "key", ["a#b", "$23", "~request", " ", "/", "é😀", "\n", "k" * 255, "😀" * 255]
)
def test_every_key_has_a_place_of_its_own(key: str) -> None:
    place = asked(key).build_key("acme")
    assert place.pk.startswith("acme#~request#")
    assert place.pk.count("#") == 2
    assert place != asked(key + "x").build_key("acme")
    assert place != asked(key).build_key("acm")


def test_a_record_wakes_no_consumer() -> None:
    record = build_record(CREATED)
    assert "type" not in record.item
    assert not [name for name in record.item if name.startswith("GSI")]


def test_a_long_answer_is_compressed() -> None:
    answer = StoredAnswer(200, {}, '{"text":"' + "台帳" * 200_000 + '"}')
    record = build_record(answer)
    assert attributes.measure_image(record.item) < 10_000
    assert asked().read_answer(record.item, NOON) == answer


def test_an_answer_that_does_not_fit_is_kept_without_its_body() -> None:
    noise = "".join(random.Random(1).choices([chr(n) for n in range(0x4E00, 0x9FFF)], k=300_000))
    record = build_record(StoredAnswer(200, {"ETag": '"1"'}, noise))
    assert attributes.measure_image(record.item) < attributes.MAX_ITEM_BYTES
    assert asked().read_answer(record.item, NOON) == StoredAnswer(204, {"ETag": '"1"'}, None)


def test_an_answer_without_a_body() -> None:
    record = build_record(StoredAnswer(204, {}, None))
    assert asked().read_answer(record.item, NOON) == StoredAnswer(204, {}, None)


def test_two_subjects_share_a_key_and_no_record() -> None:
    mika, yuki = asked(), asked(subject="yuki")
    assert mika.build_key("acme") == yuki.build_key("acme")
    assert mika.build_own_key("acme") != yuki.build_own_key("acme")
    first = dict(build_record(CREATED).item)
    record = RequestRecord(yuki.build_own_key("acme"), first=first)
    put, prolonged = yuki.build_writes(record, CREATED, NOON + dt.timedelta(hours=2))
    assert isinstance(put, Put)
    assert isinstance(prolonged, Update)
    assert put.item["PK"]["S"].startswith(first["PK"]["S"] + "#")
    until = int(prolonged.values[":ttl"]["N"])
    assert until > int(put.item["ttl"]["N"])
    first["ttl"] = {"N": str(until)}
    _, checked = yuki.build_writes(record, CREATED, NOON + dt.timedelta(hours=2, minutes=59))
    assert isinstance(checked, ConditionCheck)  # it is kept long enough
    assert "yuki" not in str(put.item)
