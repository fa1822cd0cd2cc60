"""What is kept of a request that is done once."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from daicho.errors import Invalid
from daicho.storage import attributes
from daicho.write.idempotency import KEPT_SECONDS, IdempotentRequest, StoredAnswer
from tests.support.sample_entities import NOON

ASKED = ("PUT", "/notes/1", {"a": "1"}, '{"text": "x", "n": 1}')
CREATED = StoredAnswer(201, {"ETag": '"1"', "Location": "/notes/1"}, '{"id":"1"}')
LATER = NOON + dt.timedelta(seconds=KEPT_SECONDS)


def asked(
    key: str = "k", method: str = "PUT", path: str = "/n/1", **other: str
) -> IdempotentRequest:
    return IdempotentRequest.from_http(
        key, method, path, {"a": other.get("a", "1")}, other.get("body", '{"x": 1}')
    )


def test_an_answer_comes_back_for_a_day() -> None:
    record = asked().build_record("acme", CREATED, NOON)
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
    record = asked().build_record("acme", CREATED, NOON)
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
    record = asked().build_record("acme", CREATED, NOON)
    assert "type" not in record.item
    assert not [name for name in record.item if name.startswith("GSI")]


def test_a_long_answer_is_compressed() -> None:
    answer = StoredAnswer(200, {}, '{"text":"' + "台帳" * 200_000 + '"}')
    record = asked().build_record("acme", answer, NOON)
    assert attributes.measure_image(record.item) < 10_000
    assert asked().read_answer(record.item, NOON) == answer


def test_an_answer_that_does_not_fit_is_kept_without_its_body() -> None:
    noise = "".join(random.Random(1).choices([chr(n) for n in range(0x4E00, 0x9FFF)], k=300_000))
    record = asked().build_record("acme", StoredAnswer(200, {"ETag": '"1"'}, noise), NOON)
    assert attributes.measure_image(record.item) < attributes.MAX_ITEM_BYTES
    assert asked().read_answer(record.item, NOON) == StoredAnswer(204, {"ETag": '"1"'}, None)


def test_an_answer_without_a_body() -> None:
    record = asked().build_record("acme", StoredAnswer(204, {}, None), NOON)
    assert asked().read_answer(record.item, NOON) == StoredAnswer(204, {}, None)
