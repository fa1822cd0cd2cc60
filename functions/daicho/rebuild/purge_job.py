"""The item of a purge: which disabled instances are deleted, and how far it has come (rule 34).

There is one for the whole table, because one scan serves all instances::

    PK #rebuild   SK purge
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from daicho.jobs.lease import JobStore, is_under_way
from daicho.jobs.state_machine import PURGE_PREFIX
from daicho.layout.backfill_state import BackfillState, render_instance
from daicho.plan import Ledger
from daicho.rebuild.job import JOB_KEY, TableJob, build_job_id
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import GetsItems
from daicho.storage.table import Table

PURGE_KEY = ItemKey(JOB_KEY.pk, "purge")
MAX_INSTANCES = 20
"""Instances of one purge: the filter of its scan names each, and has 4 KB. The rest follow."""


@dataclass
class PurgeJob(TableJob):
    """One purge. ``instances``: by entity, as text: ``revenue@2``."""

    KEY: ClassVar = PURGE_KEY
    id: str
    instances: dict[str, list[str]]
    asked_at: str

    @property
    def machine_input(self) -> dict[str, str]:
        """What the state machine of jobs gets. No tenant has an empty name."""
        return {"tenant": "", "job": f"{PURGE_PREFIX}{self.id}"}


def find_purge(store: GetsItems) -> PurgeJob | None:
    """The last purge of the table, if there was one."""
    image = store.get(PURGE_KEY, consistent=True)
    return None if image is None else PurgeJob.from_image(image)


def list_unpurged(ledger: Ledger, states: Mapping[str, BackfillState]) -> dict[str, list[str]]:
    """By entity, the instances that a released ledger disables, and that are not purged yet.

    Those of a ledger that is not released may still answer.
    """
    unpurged = {
        entity: sorted(set(map(render_instance, ledger.list_disabled(entity))) - state.purged)
        for entity, state in sorted(states.items())
        if entity in ledger.entities and state.newest == ledger.newest_generation(entity).number
    }
    return {entity: instances for entity, instances in unpurged.items() if instances}


def request_purge(
    store: Table, unpurged: Mapping[str, list[str]], now: dt.datetime, *, rate: float
) -> PurgeJob:
    """Record a request; returns the job. An execution of the state machine then works on it.

    A job that is under way continues, and takes the other instances afterwards.

    Raises:
        OvertakenError: the job was changed by another process; call again.
        StoreError: the table does not answer.
    """
    before = find_purge(store)
    if before is not None and is_under_way(before, now):
        return before
    rev, total = (before.rev, before.total) if before is not None else (0, 0)
    job = PurgeJob(
        build_job_id(now, rev),
        choose_instances(unpurged),
        keys.render_instant(now),
        rate=rate,
        total=total,
        rev=rev,
    )
    JobStore(store, lambda: now).save(job)
    return job


def choose_instances(unpurged: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """As many instances as one purge takes."""
    flat = [(entity, each) for entity, some in sorted(unpurged.items()) for each in some]
    chosen: dict[str, list[str]] = {}
    for entity, instance in flat[:MAX_INSTANCES]:
        chosen.setdefault(entity, []).append(instance)
    return chosen
