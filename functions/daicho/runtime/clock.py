"""The clock: what takes the time as an argument takes this one where nobody says another."""

from __future__ import annotations

import datetime as dt


def utc_now() -> dt.datetime:
    """The time at this moment, in UTC."""
    return dt.datetime.now(dt.UTC)
