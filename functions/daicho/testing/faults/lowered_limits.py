"""Limits of the library that are too high to be reached in a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from daicho.stream import batch_writer, claims
from daicho.tally import rollup, total_writer


@contextmanager
def lower_limits(max_open_claims: int, max_rollup_starts: int) -> Iterator[None]:
    """Lower limits for the time of a schedule.

    ``max_open_claims``: the open claims of one shard. ``max_rollup_starts``: how often a rollup
    begins with one tally, because another rollup has written its total meanwhile. An item of
    several writes waits for the others of its batch, as a tenant of many does.
    """
    with (
        mock.patch.object(batch_writer, "FEW_WRITES", 1),
        mock.patch.object(batch_writer, "get_tenant", lambda key: key.pk),
        mock.patch.object(claims, "MAX_OPEN_CLAIMS", max_open_claims),
        mock.patch.object(rollup, "MAX_STARTS", max_rollup_starts),
        mock.patch.object(total_writer, "MAX_STARTS", max_rollup_starts),
    ):
        yield
