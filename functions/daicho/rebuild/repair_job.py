"""The item of a repair run: whose derived items are written again, and how far it has come.

There is one for the whole table::

    PK #rebuild   SK repair
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from daicho.errors import DaichoError, Invalid
from daicho.jobs.lease import JobStore
from daicho.jobs.state_machine import REPAIR_PREFIX
from daicho.plan import Ledger
from daicho.rebuild.job import JOB_KEY, RebuildJob, build_job_id
from daicho.rebuild.requests import find_job
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import GetsItems
from daicho.storage.table import Table

REPAIR_KEY = ItemKey(JOB_KEY.pk, "repair")


class RepairUnderWayError(DaichoError):
    """Another job works on the table. The message names it, and what to do."""


@dataclass
class RepairJob(RebuildJob):
    """One run. Its ``targets`` are the chosen entities, with the newest generation of each.

    ``run``: the value that each touch gives to ``_repair``, also after it was resumed. ``tenant``:
    the one whose items are chosen; "" for those of all.
    """

    KEY: ClassVar = REPAIR_KEY
    run: str = ""
    tenant: str = ""

    @property
    def machine_input(self) -> dict[str, str]:
        """What the state machine of jobs gets."""
        return {"tenant": "", "job": f"{REPAIR_PREFIX}{self.id}"}

    def has_choice(self, entities: Mapping[str, int], tenant: str) -> bool:
        """Whether it is of these entities and this tenant."""
        return (self.targets.keys(), self.tenant) == (entities.keys(), tenant)


def find_repair(store: GetsItems) -> RepairJob | None:
    """The last repair run of the table, if there was one."""
    image = store.get(REPAIR_KEY, consistent=True)
    return None if image is None else RepairJob.from_image(image)


def choose_targets(ledger: Ledger, entities: Collection[str]) -> dict[str, int]:
    """The chosen entities with their newest generations; by default all that derive something.

    Raises:
        Invalid: no entity has a name, or it derives nothing.
    """
    for name in entities:
        if name not in ledger.derived_types:
            known = ", ".join(sorted(ledger.derived_types))
            message = f"{name} is no entity that derives anything. These do: {known}"
            raise Invalid(message, field="entities")
    chosen = sorted(set(entities or ledger.derived_types))
    return {name: ledger.newest_generation(name).number for name in chosen}


def request_repair(
    store: Table,
    entities: Mapping[str, int],
    tenant: str,
    now: dt.datetime,
    *,
    rate: float,
    total: int = 0,
) -> RepairJob:
    """Record a request; returns the job. An execution of the state machine then works on it.

    Raises:
        RepairUnderWayError: a rebuild or another run is not over.
        OvertakenError: the job was changed by another process; call again.
        StoreError: the table does not answer.
    """
    rebuild, before = find_job(store), find_repair(store)
    if rebuild is not None and rebuild.state in ("running", "blocked"):
        raise RepairUnderWayError(
            f"a rebuild is {rebuild.state}, and has priority: daicho rebuild --status shows it"
        )
    if before is not None and before.state in ("running", "blocked"):
        of = f" of tenant {before.tenant}" if before.tenant else ""
        raise RepairUnderWayError(
            f"another run is {before.state}, for {', '.join(before.targets)}{of}: "
            "daicho rebuild --again --status shows it, --pause ends it"
        )
    rev = before.rev if before is not None else 0
    run, at = build_job_id(now, rev), keys.render_instant(now)
    job = RepairJob(
        run, dict(entities), at, run=run, tenant=tenant, rate=rate, total=total, rev=rev
    )
    JobStore(store, lambda: now).save(job)
    return job
