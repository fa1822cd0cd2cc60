"""Heartbeats: their keys, what they name, and what is none."""

from __future__ import annotations

import datetime as dt

from daicho.layout.heartbeats import HeartbeatName, build_heartbeat, is_heartbeat
from daicho.runtime.token_claims import TENANT
from daicho.storage import keys
from daicho.storage.attributes import get_key
from tests.support.sample_ledger import build_image

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)


def test_no_tenant_has_the_key_of_a_heartbeat() -> None:
    key = get_key(build_heartbeat(HeartbeatName("run#1", "So#ng"), 7, NOW))
    tenant, *parts = keys.parse(key.pk)
    assert TENANT.fullmatch(tenant) is None
    assert parts == ["heartbeat", "run#1", "7"]
    assert keys.parse(key.sk) == ("So#ng",)


def test_an_item_of_an_entity_is_no_heartbeat() -> None:
    song = build_image("Song", {"id": "1", "name": "b", "artist": "x", "heartbeat": "Song"})
    assert not is_heartbeat(song)
    assert HeartbeatName.from_image(song) is None
    assert HeartbeatName.from_image(None) is None


def test_a_heartbeat_that_names_nothing_is_of_no_run() -> None:
    item = build_heartbeat(HeartbeatName("r", "Song"), 3, NOW)
    del item["heartbeat"]  # type: ignore[attr-defined]
    assert is_heartbeat(item)
    assert HeartbeatName.from_image(item) is None
