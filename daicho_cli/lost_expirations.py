"""What expired in a gap of a stack's stream, as ``daicho recover --from-table`` archives it."""

from __future__ import annotations

import datetime as dt
import getpass
from typing import Any

from daicho.operations.action_log import ActionLog
from daicho.plan import Ledger
from daicho.recovery.lost_expirations import LostExpirations, find_end
from daicho.release.commands import REQUEST_ATTEMPTS, REQUEST_TIMEOUT_S
from daicho.release.states import read_deployed
from daicho.restore.run_record import RestoreLease, RestoreRecord
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.bucket import open_bucket
from daicho.storage.stream_shards import open_stream_describer
from daicho.storage.table import Table, open_table
from daicho.stream.gap import StreamGap
from daicho.stream.shard_progress import EmulatedStream
from daicho_cli.aws import Stack
from daicho_cli.recovery_table import RecoveryTable
from daicho_cli.taken_over import find_taken_over
from daicho_cli.terminal import CommandError, show_progress_bar

THREADS = 8
TIME_LIMIT_S = 24 * 3600.0
SETTLE_S, LOCAL_SETTLE_S = 1_000, 8
"""After so long an archiver that reads an earlier stream has ended."""


def archive_lost(
    stack: Stack,
    table: Table,
    ledger: Ledger,
    recovery: RecoveryTable,
    gap: StreamGap,
    copy: str,
    at: dt.datetime | None,
) -> int:
    """Archive what expired in a gap, from a copy of the table; returns how many items.

    ``at``: the moment of the copy, if somebody has named it.

    Raises:
        CommandError: it is no copy of this table from before the gap.
        DaichoError, ClientError: it is not done; call it again.
    """
    place: dict[str, Any] = {"endpoint": stack.endpoint, "region": stack.region}
    moment = recovery.find_moment(copy, at)
    store = open_table(copy, attempts=REQUEST_ATTEMPTS, timeout=REQUEST_TIMEOUT_S, **place)
    recovery.check_copy(copy, store, table, moment)
    stream = EmulatedStream() if stack.is_local else open_stream_describer(table.name, **place)
    until = find_end(gap, stream.describe().label, utc_now())
    if moment >= until:
        raise CommandError(f"{copy} is of {keys.render_instant(moment)}, when the gap was over")
    settled = max(until, read_deployed(table) or until)
    who, run = getpass.getuser(), f"{utc_now():%Y%m%dT%H%M%S%f}"
    before, at_text = find_taken_over(table), keys.render_instant(moment)
    record = RestoreRecord(id=run, asked_by=who, at=at_text, copy=copy)
    record.gap = before.gap if before is not None else ""
    lease = RestoreLease(table, record, utc_now)
    lost = LostExpirations(
        store=table,
        copy=store,
        stream=stream,
        bucket=open_bucket(stack["ArchiveBucketName"], **place),
        failures=open_bucket(stack["FailureBucketName"], **place),
        ledger=ledger,
        at=moment,
        until=until,
        settled=settled + dt.timedelta(seconds=LOCAL_SETTLE_S if stack.is_local else SETTLE_S),
        run_id=run,
        budget=RetryBudget.for_seconds(TIME_LIMIT_S),
        threads=THREADS,
        renew=lease.renew,
    )
    lease.take()
    try:
        with show_progress_bar("archive what expired", total=None):
            count = ActionLog(table, utc_now).run(
                *(who, "archive what expired in a gap", copy),
                lost.archive,
                lambda done: f"{done} items archived",
            )
    except BaseException:
        lease.end(0, has_failed=True)
        raise
    lease.end(count)
    return count
