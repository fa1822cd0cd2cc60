"""Limits of rebuilds and heartbeats that are too high to be reached in a schedule."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

from daicho.rebuild import rebuild
from daicho.stream import heartbeat_watcher
from daicho.stream.older_images import OlderImages
from daicho.testing.schedules.event_owner import EventOwner

KEYS_PER_SHARD = 1.0
"""Fewer than the library uses: a shard that gets no heartbeat is more frequent."""


@contextmanager
def lower_rebuild_limits(*, observes_items: bool = True) -> Iterator[None]:
    """Let a rebuild save its position after each page, and send fewer heartbeats.

    ``observes_items``: whether items of older generations are noted (`daicho.stream.older_images`).
    """
    with (
        ExitStack() as stack,
        mock.patch.object(rebuild, "SAVE_INTERVAL", dt.timedelta(0)),
        mock.patch.object(heartbeat_watcher, "KEYS_PER_SHARD", KEYS_PER_SHARD),
    ):
        for name in () if observes_items else ("note", "note_item"):
            stack.enter_context(mock.patch.object(OlderImages, name, return_value=None))
        yield


@dataclass(frozen=True)
class LoweredRebuildLimits(EventOwner):
    """The lower limits for the time of a schedule. See `lower_rebuild_limits`."""

    observes_items: bool

    def watch(self) -> AbstractContextManager[None]:
        """See `EventOwner`."""
        return lower_rebuild_limits(observes_items=self.observes_items)
