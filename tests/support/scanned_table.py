"""A table in memory that can be scanned."""

from __future__ import annotations

from daicho.storage.item_key import get_key
from daicho.storage.requests import ItemPage, Scan
from daicho.testing.aws.memory_stores import MemoryTable


class ScannedTable(MemoryTable):
    """Understands the one filter that the library scans with: another partition key."""

    def scan(self, scan: Scan) -> ItemPage:
        """Read one page."""
        keys = sorted(self.items)
        start = keys.index(get_key(scan.start)) + 1 if scan.start else 0
        page = keys[start : start + (scan.limit or 1_000_000)]
        found = tuple(self.items[key] for key in page)
        last = found[-1] if found and page[-1] != keys[-1] else None
        if scan.filter is not None:
            assert scan.filter == "#PK <> :backfill"
            (excluded,) = scan.values.values()
            found = tuple(item for item in found if item["PK"] != excluded)
        return ItemPage(found, len(found), last, 1.0, len(page))
