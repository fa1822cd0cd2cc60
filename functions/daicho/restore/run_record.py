"""The record of the restore of a table: only one command at a time works on it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from daicho.errors import DaichoError
from daicho.jobs.lease import JobStore
from daicho.jobs.record import JobRecord
from daicho.rebuild.job import JOB_KEY
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.table import Table

RESTORE_KEY = ItemKey(JOB_KEY.pk, "table restore")
ABANDONED_AFTER = dt.timedelta(minutes=3)
"""A command that has not saved its record for so long has ended."""
RENEWED_AFTER = dt.timedelta(seconds=20)


class RestoreUnderWayError(DaichoError):
    """Another restore works on the table."""


@dataclass(kw_only=True)
class RestoreRecord(JobRecord):
    """The last restore. ``at``: the moment. ``changed``: how many items it has written.

    ``gap``: the gap of a table that was lost, and is a restored copy itself; "" if it was not.
    """

    asked_by: str = ""
    asked_at: str = ""
    at: str = ""
    tenant: str = ""
    copy: str = ""
    changed: int = 0
    gap: str = ""

    @property
    def item_key(self) -> ItemKey:
        """The key of the item."""
        return RESTORE_KEY


class RestoreLease:
    """The lease of one restore. ``record.rev`` is that of the last save."""

    def __init__(self, store: Table, record: RestoreRecord, now: Callable[[], dt.datetime]) -> None:
        self.record = record
        self._store, self._now = store, now
        self._saved = now()

    def take(self) -> None:
        """Begin.

        Raises:
            RestoreUnderWayError: another restore works on the table.
            OvertakenError: another one has begun at the same moment.
        """
        image = self._store.get(RESTORE_KEY, consistent=True)
        before = None if image is None else RestoreRecord.from_image(image)
        if before is not None:
            saved = dt.datetime.fromisoformat(before.updated_at)
            if before.state == "running" and self._now() < saved + ABANDONED_AFTER:
                raise RestoreUnderWayError(
                    f"a restore to {before.at} by {before.asked_by} works on the table: wait for "
                    "its end, or for three minutes after it was interrupted"
                )
            self.record.rev = before.rev
        self.record.asked_at = keys.render_instant(self._now())
        self._save()

    def renew(self) -> None:
        """Show that the restore continues.

        Raises:
            OvertakenError: another one has begun.
        """
        if self._now() >= self._saved + RENEWED_AFTER:
            self._save()

    def end(self, changed: int, *, has_failed: bool = False) -> None:
        """End the restore, so that another one may begin."""
        self.record.changed, self.record.finished_at = changed, keys.render_instant(self._now())
        self.record.state = "failed" if has_failed else "succeeded"
        self._save()

    def _save(self) -> None:
        JobStore(self._store, self._now).save(self.record)
        self._saved = self._now()
