"""Limits of the library that are too high to be reached in a schedule."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from daicho.rebuild import rebuild
from daicho.stream import claims
from daicho.stream.heartbeat_watcher import HeartbeatWatcher
from daicho.tally import rollup

KEYS_PER_SHARD = 1.0
"""Fewer than the library uses: a shard that gets no heartbeat is more frequent."""


@contextmanager
def lower_limits(max_open_claims: int, max_rollup_starts: int) -> Iterator[None]:
    """Lower limits for the time of a schedule.

    ``max_open_claims``: the open claims of one shard. ``max_rollup_starts``: how often a rollup
    begins with one tally, because another rollup has written its total meanwhile. A rebuild saves
    its position after each page, and sends fewer heartbeats than it does otherwise.
    """
    heartbeat_options: Any = HeartbeatWatcher.__init__.__kwdefaults__
    with (
        mock.patch.object(claims, "MAX_OPEN_CLAIMS", max_open_claims),
        mock.patch.object(rollup, "MAX_STARTS", max_rollup_starts),
        mock.patch.object(rebuild, "SAVE_INTERVAL", dt.timedelta(0)),
        mock.patch.dict(heartbeat_options, keys_per_shard=KEYS_PER_SHARD),
    ):
        yield
