"""The sweep: removes the remains of requests that ended half-way (`layout.cleanup_marks`).

It processes the marks that are due, and removes data that nobody can see any more: sections of an
epoch that no head names, pieces that no section names, objects without an item. A request that is
under way has a mark that is not due yet, so the sweep skips a document that has such a mark.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from daicho.errors import ConditionFailedError, StoreError
from daicho.layout import cleanup_marks, sections
from daicho.layout.sections import Manifest
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.bucket import Bucket
from daicho.storage.requests import Query
from daicho.storage.table import MAX_BATCH_WRITES, Table

logger = logging.getLogger(__name__)
REMOVALS_PER_SECOND = 500
"""Removed items a second: half of what a partition takes, in which the rest serves requests."""
MAX_DUE_TIME = dt.timedelta(hours=1)
"""The time in which the runs of every five minutes should have removed what a mark is for."""


@dataclass
class Report:
    """The number of marks that are done, wait or failed, and of removed items and objects.

    ``stuck``: those of the failed marks that have been due for `MAX_DUE_TIME`.
    """

    done: int = 0
    waiting: int = 0
    failed: int = 0
    stuck: int = 0
    items: int = 0
    objects: int = 0


@dataclass(frozen=True)
class Sweep:
    """Processes due marks, the longest due first."""

    table: Table
    bucket: Callable[[], Bucket]
    now: Callable[[], dt.datetime]
    pace: RateLimiter = field(default_factory=lambda: RateLimiter(REMOVALS_PER_SECOND))

    def run(self, retry_budget: RetryBudget) -> Report:
        """Process the due marks, until there is little time left."""
        report, now = Report(), keys.render_instant(self.now())
        long_ago = keys.render_instant(self.now() - MAX_DUE_TIME)
        due = Query(cleanup_marks.LIST, index="GSI2", high=now)
        for page in self.table.query_pages(due):
            for row in page.items:
                if not retry_budget.has_time_left:
                    return report
                try:
                    self._look_after(get_key(row), now, report)
                except StoreError as error:
                    report.failed += 1
                    report.stuck += _due(row) <= long_ago
                    logger.warning("left for the next sweep: %s: %s", get_key(row), error)
        return report

    def _look_after(self, key: ItemKey, now: str, report: Report) -> None:
        mark = self.table.get(key, consistent=True)
        if mark is None or _due(mark) > now:  # the index lags behind
            return
        name = attributes.get_text(mark, "object")
        if name is not None:
            if self.table.get(cleanup_marks.parse_owner_partition(key.pk), consistent=True) is None:
                self.bucket().remove(name)
                report.objects += 1
        elif not self._swept(key.pk, now, report):
            report.waiting += 1
            return
        try:
            condition = "GSI2SK = :due"
            self.table.delete(key, condition=condition, values={":due": mark["GSI2SK"]})
        except ConditionFailedError:
            return  # the mark was renewed meanwhile
        report.done += 1

    def _swept(self, partition: str, now: str, report: Report) -> bool:
        """Remove the sections that nobody sees. False while a request writes to the document.

        The order of the reads matters: sections, then marks, then the head. A section that the
        first read finds, and whose writer has no mark in the second read, is either named by the
        head or belongs to nobody.
        """
        candidates = [
            get_key(item) for item in self._items(partition) if not _is_mark(get_key(item))
        ]
        marks = list(self._items(partition, keys.render_prefix("")))
        if any(_due(mark) > now for mark in marks):
            return False
        head = self.table.get(cleanup_marks.parse_owner_partition(partition), consistent=True)
        manifest = None if head is None else Manifest.from_image(head)
        invisible = list(self._select_invisible(candidates, partition, manifest))
        for start in range(0, len(invisible), MAX_BATCH_WRITES):
            batch = invisible[start : start + MAX_BATCH_WRITES]
            self.pace.wait(len(batch))
            self.table.batch_write(deletes=batch)
        report.items += len(invisible)
        return True

    def _select_invisible(
        self, candidates: Sequence[ItemKey], partition: str, manifest: Manifest | None
    ) -> Iterator[ItemKey]:
        first_pieces: dict[str, str | None] = {}
        for key in candidates:
            epoch, name, *piece = keys.parse(key.sk)
            if manifest is None or epoch != manifest.epoch:
                yield key
            elif piece != [""]:
                if name not in first_pieces:
                    section_key = sections.render_section_key(partition, epoch, name)
                    first = self.table.get(section_key, consistent=True)
                    first_pieces[name] = (
                        None if first is None else attributes.get_text(first, "piece")
                    )
                if piece[0] != first_pieces[name]:
                    yield key

    def _items(self, partition: str, prefix: str | None = None) -> Iterator[Image]:
        names = ("PK", "SK", "GSI2SK")
        query = Query(partition, prefix=prefix, attributes=names, consistent=True)
        for page in self.table.query_pages(query):
            yield from page.items


def _is_mark(key: ItemKey) -> bool:
    return key.sk.startswith(keys.render_prefix(""))


def _due(mark: Image) -> str:
    return attributes.get_text(mark, "GSI2SK") or ""
