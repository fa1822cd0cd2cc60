"""What the file of the local stack says."""

from __future__ import annotations

LOCAL = {
    "endpoint": "http://127.0.0.1:4566",
    "region": "us-east-1",
    "table": "local-table",
    "bucket": "local-archive",
}
