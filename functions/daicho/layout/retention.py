"""How long the stack keeps what distinguishes a late stream record from a new one."""

from __future__ import annotations

import datetime as dt

STREAM_SAFETY_WINDOW = dt.timedelta(hours=72)
"""No stream record arrives later than this: DynamoDB keeps a record for 24 hours, and a consumer
that is behind, a redrive and clocks that differ have the rest."""
TOMBSTONE_RETENTION = STREAM_SAFETY_WINDOW
"""How long a tombstone stays: no record can arrive after it has expired."""
FENCED = "~"
"""The number of the tombstones of a deleted tenant. It sorts behind every number of the stream."""
