"""Limits of the library that are too high to be reached in a schedule."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from daicho.rebuild import rebuild
from daicho.stream import claims
from daicho.stream.heartbeat_watcher import HeartbeatWatcher
from daicho.stream.older_images import OlderImages
from daicho.tally import rollup

KEYS_PER_SHARD = 1.0
"""Fewer than the library uses: a shard that gets no heartbeat is more frequent."""


@contextmanager
def lower_limits(
    max_open_claims: int, max_rollup_starts: int, *, observes_items: bool = True
) -> Iterator[None]:
    """Lower limits for the time of a schedule.

    ``max_open_claims``: the open claims of one shard. ``max_rollup_starts``: how often a rollup
    begins with one tally, because another rollup has written its total meanwhile. A rebuild saves
    its position after each page, and sends fewer heartbeats than it does otherwise.
    ``observes_items``: whether items of older generations are noted (`daicho.stream.older_images`).
    """
    heartbeat_options: Any = HeartbeatWatcher.__init__.__kwdefaults__
    with (
        ExitStack() as stack,
        mock.patch.object(claims, "MAX_OPEN_CLAIMS", max_open_claims),
        mock.patch.object(rollup, "MAX_STARTS", max_rollup_starts),
        mock.patch.object(rebuild, "SAVE_INTERVAL", dt.timedelta(0)),
        mock.patch.dict(heartbeat_options, keys_per_shard=KEYS_PER_SHARD),
    ):
        for name in () if observes_items else ("note", "note_item"):
            stack.enter_context(mock.patch.object(OlderImages, name, return_value=None))
        yield
