"""Payloads of quarantined records: missing ones and others are told apart."""

from __future__ import annotations

import pytest

from daicho.redrive.payloads import MissingPayloadError, UnreadablePayloadError, read_payload
from daicho.stream.claims import render_payload_name
from tests.support.mortal_stores import Turns
from tests.support.redrive_setup import SHARD, House, house, render_number, write_a_day

__all__ = ["house"]


def test_a_payload_has_the_record_and_its_error(house: House) -> None:
    write_a_day(house)
    house.project()
    _, bucket = house.stores(Turns())
    read = read_payload(bucket, SHARD, render_number(2), emulated=False)
    assert (read.record.seq, read.error["type"]) == (render_number(2), "ArithmeticError")


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"record": 1, "error": {}}', b"\xff"])
def test_what_is_no_payload_is_an_error_of_its_own(house: House, body: bytes) -> None:
    _, bucket = house.stores(Turns())
    with pytest.raises(MissingPayloadError):
        read_payload(bucket, SHARD, render_number(2), emulated=False)
    name = render_payload_name(SHARD, render_number(2))
    house.objects.put_object(Key=name, Body=body)
    with pytest.raises(UnreadablePayloadError):
        read_payload(bucket, SHARD, render_number(2), emulated=False)
