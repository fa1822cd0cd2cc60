"""Where the records of requests with an Idempotency-Key are, and how long they are kept."""

from __future__ import annotations

OWNER = "~request"
"""Behind the tenant in the partition keys of records."""
KEPT_SECONDS = 24 * 60 * 60
