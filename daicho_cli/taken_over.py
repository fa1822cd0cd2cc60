"""A table that was taken over: its record, and the tenants that were closed since its moment."""

from __future__ import annotations

import datetime as dt
import getpass
import json
from dataclasses import dataclass
from typing import Any

from daicho.errors import StoreError
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.recovery.take_over import SNAPSHOT_MARGIN
from daicho.restore.run_record import RESTORE_KEY, RestoreRecord
from daicho.runtime.clock import utc_now
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.tenants.deletion_job import Archive
from daicho.tenants.lifecycle import Tenants
from daicho.tenants.tenant_jobs import TenantJobs
from daicho_cli.aws import Stack


@dataclass(frozen=True)
class Closure:
    """A tenant that was closed since the moment of the copy, and what becomes of its archive."""

    tenant: str
    archive: Archive


def list_closures(stack: Stack, since: dt.datetime) -> list[Closure]:
    """The tenants that were closed since a moment, by the history of the stack's jobs.

    Raises:
        ClientError: AWS refuses.
    """
    closures: dict[str, Closure] = {}
    for given in list_inputs(stack, since - SNAPSHOT_MARGIN):
        tenant = given.get("tenant")
        if tenant and given.get("archive"):  # other jobs of a tenant have none
            forgets = "forget" in (given["archive"], getattr(closures.get(tenant), "archive", ""))
            closures[tenant] = Closure(tenant, "forget" if forgets else "keep")
    return list(closures.values())


def list_inputs(stack: Stack, since: dt.datetime) -> list[dict[str, Any]]:
    """What executions of jobs were given that have begun since a moment, the newest first.

    The history of an execution is kept for 90 days.

    Raises:
        ClientError: AWS refuses.
    """
    client, found = stack.open_client("stepfunctions"), list[dict[str, Any]]()
    pages = client.get_paginator("list_executions").paginate(stateMachineArn=stack["JobMachineArn"])
    for each in (each for page in pages for each in page["executions"]):
        if each["startDate"] < since:
            break
        described = client.describe_execution(executionArn=each["executionArn"])
        found.append(json.loads(described["input"]))
    return found


def open_jobs(stack: Stack, table: Table, tenant: str) -> TenantJobs:
    """The jobs of a tenant of a table."""
    tenants = Tenants(table, ItemCache(utc_now), stack.machine, utc_now)
    return TenantJobs(tenants, tenant, getpass.getuser())


def find_taken_over(table: Table) -> RestoreRecord | None:
    """How a table was taken over; None if it was not."""
    image = table.get(RESTORE_KEY, consistent=True)
    record = None if image is None else RestoreRecord.from_image(image)
    return record if record is not None and record.gap else None


def close_again(stack: Stack, table: Table, record: RestoreRecord) -> int:
    """Start the deletions of tenants that were closed since the moment of a taken over table.

    Returns how many.

    Raises:
        StoreError: they are not all started; call it again.
    """
    closures = list_closures(stack, dt.datetime.fromisoformat(record.at))
    for each in closures:
        if table.get(build_closed_mark_key(each.tenant), consistent=True) is None:
            raise StoreError(f"{each.tenant} is not closed: run daicho take-over again")
        open_jobs(stack, table, each.tenant).delete(each.archive)
    return len(closures)
