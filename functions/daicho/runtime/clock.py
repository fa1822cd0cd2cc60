"""The clock: the default of functions that take a clock as an argument."""

from __future__ import annotations

import datetime as dt


def utc_now() -> dt.datetime:
    """The time at this moment, in UTC."""
    return dt.datetime.now(dt.UTC)
