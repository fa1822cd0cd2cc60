"""Songs in the stream of a table, and what the projector writes of them."""

from __future__ import annotations

import datetime as dt

from daicho.storage.attributes import Image
from daicho.stream.records import render_sequence
from daicho.tally.slots import build_slot_key
from tests.support.sample_ledger import build_image, build_tally_key
from tests.support.stream_events import LABEL

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
COUNT = build_slot_key(build_tally_key("Song", "count", 1), "s")
"""The slot of the number of songs."""


def build_song(name: str, identity: str = "1") -> Image:
    return build_image("Song", {"id": identity, "name": name, "artist": "x"})


def build_seq_value(number: int) -> dict[str, str]:
    """A sequence number, as derived items hold it."""
    return {"S": render_sequence(LABEL, str(number))}
