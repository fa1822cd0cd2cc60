"""The deletions of all tenants, newest first, and what is left to be forgotten of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.archive.forget_requests import ForgetRequest, build_request_key
from daicho.layout.tenant_items import DELETIONS, build_job_key, parse_job_index_key
from daicho.query.paging import CursorBinding, CursorPosition
from daicho.runtime.retry import Mapper
from daicho.storage import keys
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.tenants.deletion_job import DeletionJob

CURSORS = CursorBinding("", ("operations", "deletions"))


def list_deletions(
    store: Table, cursor: str | None, limit: int, map_all: Mapper
) -> tuple[list[dict[str, Any]], str | None]:
    """A page of deletions, and the cursor of the next one.

    Raises:
        BadCursor: the cursor is none of this list.
    """
    position = CURSORS.read_cursor(cursor)
    query = Query(
        DELETIONS,
        index="GSI2",
        below=position.order if position else None,
        forward=False,
        limit=limit,
    )
    page = next(iter(store.query_pages(query)))
    places = [item["GSI2SK"]["S"] for item in page.items]

    def read(place: str) -> dict[str, Any] | None:
        tenant, id = parse_job_index_key(place)
        item = store.get(build_job_key(tenant, id), consistent=True)
        mark = store.get(build_request_key(tenant))
        return None if item is None else _describe(DeletionJob.from_image(item), mark)

    found = [each for each in map_all(read, places) if each is not None]
    more = page.last is not None and bool(places)
    return found, CURSORS.write_cursor(CursorPosition(places[-1])) if more else None


def _describe(job: DeletionJob, mark: Mapping[str, Any] | None) -> dict[str, Any]:
    """A deletion. ``forget_due``: when work on its archived rows is due; None if none is left."""
    request = ForgetRequest.from_item(mark) if mark else None
    again = request.again if request else None
    return {
        "tenant": job.tenant,
        "job": job.id,
        "state": job.state,
        "phase": "done" if job.state == "succeeded" else "waiting" if job.waits else job.phase,
        "passes": job.passes,
        "asked_by": job.asked_by,
        "asked_at": job.asked_at,
        "updated_at": job.updated_at,
        "archive": job.archive,
        "error": job.error or None,
        "forget_due": keys.render_instant(again) if again else None,
    }
