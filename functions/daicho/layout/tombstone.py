"""Tombstones: what stays in place of a derived item that was removed."""

from __future__ import annotations

import datetime as dt

TOMBSTONE_RETENTION = dt.timedelta(hours=72)
"""Retention of the stream, rounded up: no record can come later than its tombstone lives."""
