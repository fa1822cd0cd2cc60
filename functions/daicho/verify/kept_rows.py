"""What archived rows keep in tallies (``on_expiry="keep"``): the evidence for kept parts.

A row of the archive is an item that expired. Three things add it to a kept part, or take it back:

- its expiry, if the plan of its own generation keeps it: the stream has counted it;
- a rebuild, if that plan lacks the aggregate: the marker of the row's object shows which tallies
  have the rows of the object (rule 33);
- its first restore: the stream has subtracted what the restored image keeps (rule 42).

A row that was dismissed counts nowhere: its image has a valid mark, or the row has a record of no
generation (rule 56). In lines, an expiry and a restore have the names that the journal gives them.
So an entry of the journal replaces the line of the same event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice

from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, Selection, StoredObjectInfo
from daicho.archive.row_format import ArchivedRow
from daicho.derive.contributions import Amount
from daicho.layout.marks import is_dismissed
from daicho.layout.migrations import migrate_image
from daicho.plan import Generation, Ledger
from daicho.rebuild.kept_amounts import Instance, select_lacking_rows, sum_rows
from daicho.rebuild.kept_parts import KeptParts, build_marker_key
from daicho.rebuild.requests import find_job
from daicho.rebuild.table_step import TableDependencies
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, make_mapper, retry
from daicho.storage import attributes
from daicho.stream.changes import PlannedImage, compute_taken_back, select_kept
from daicho.stream.heartbeat_watcher import HeartbeatRun
from daicho.stream.journal import render_expiry, render_restore, to_plain_amount
from daicho.verify.tally_lines import Line

DISMISSED = 0
"""The generation in the record of a row that was dismissed."""


@dataclass(frozen=True)
class ObjectEvidence:
    """What one object of the archive shows. ``fault``: why it does not show all of it, or ""."""

    info: StoredObjectInfo
    lines: tuple[Line, ...]
    fault: str = ""


@dataclass(frozen=True)
class KeptRows:
    """The archive as one run reads it.

    ``run``: its id. ``entity``, ``tenant``: the only ones, or "" for all.
    """

    on: TableDependencies
    retry_budget: RetryBudget
    run: str
    entity: str = ""
    tenant: str = ""

    @cached_property
    def instances(self) -> Mapping[str, frozenset[Instance]]:
        """By entity, the aggregates that count expired items."""
        ledger = self.on.ledger
        kept = {
            entity: list_kept_instances(entity, ledger)
            for entity in sorted(ledger.entities)
            if self.entity in ("", entity)
        }
        return {entity: instances for entity, instances in kept.items() if instances}

    def has_passed(self) -> bool:
        """Whether the archive has all that expired before this was first called."""
        return self._parts.watcher.watch(self._heartbeats, self.retry_budget).has_passed

    def forget_heartbeats(self) -> None:
        """Remove what the shards noted of heartbeats of the run."""
        if self.instances:
            self._parts.watcher.forget(self._heartbeats)

    def read(self, archive: ArchiveReader, behind: str) -> Iterator[list[ObjectEvidence]]:
        """What objects behind a name show, some at a time, while there is time.

        Raises:
            UnavailableError: a store does not answer.
        """
        objects = archive.list_selected(Selection(tuple(self.instances)), behind=behind)
        map_all = make_mapper(self.on.parallelism)
        while window := list(islice(objects, self.on.parallelism)):
            yield list(map_all(lambda info: self._read_object(archive, info), window))

    def name_rebuild(self) -> str:
        """The state of the last rebuild: "" while it may add rows to kept parts."""
        job = retry(lambda: find_job(self.on.store), self.retry_budget)
        if job is None:
            return "none"
        return f"{job.id} {job.rev}" if job.state in ("succeeded", "failed") else ""

    def _read_object(self, archive: ArchiveReader, info: StoredObjectInfo) -> ObjectEvidence:
        try:
            contents = archive.read(info.name)
        except CorruptObjectError as error:
            return ObjectEvidence(info, (), f"{info.name} of the archive cannot be read: {error}")
        rows = {row.seq: row for row in contents.rows if self.tenant in ("", row.tenant)}
        restored = self._parts.read_restored(rows)
        rows = {seq: row for seq, row in rows.items() if restored.get(seq) != DISMISSED}
        lines: list[Line] = []
        for seq, row in rows.items():
            try:
                lines += list_row_lines(row, restored.get(seq), self.on.ledger)
            except Exception as error:  # whatever it is: what the row counts in is not judged
                key = f"{row.key.pk} {row.key.sk}"
                fault = f"the archived row {seq} of {key} cannot be computed: {error}"
                return ObjectEvidence(info, (), fault)
        lines += self._list_added(info, rows, restored)
        return ObjectEvidence(info, tuple(lines))

    def _list_added(
        self,
        info: StoredObjectInfo,
        rows: Mapping[str, ArchivedRow],
        restored: Mapping[str, int],
    ) -> Iterator[Line]:
        """What rebuilds have added of an object."""
        ledger = self.on.ledger
        for instance in sorted(self.instances[info.entity]):
            lacking = select_lacking_rows(rows.values(), {instance}, ledger)
            if not lacking:
                continue
            plan, _ = ledger.find_aggregate(info.entity, *instance)
            amounts = sum_rows(lacking, restored, plan, {instance}, ledger).amounts[instance]
            behind = self._parts.read_marker(build_marker_key(info.entity, instance, info.name))
            for tally, amount in amounts.items():
                if tally <= behind:
                    yield _build_line(tally, f"added {info.name}", amount)

    @property
    def _heartbeats(self) -> HeartbeatRun:
        return HeartbeatRun(f"verify-{self.run}-archived", tuple(self.instances)[:1])

    @cached_property
    def _parts(self) -> KeptParts:
        return KeptParts(self.on, self.retry_budget)


def list_kept_instances(entity: str, ledger: Ledger) -> frozenset[Instance]:
    """The aggregates of an entity that count expired items, in any generation."""
    kept = {
        (each.name, each.since)
        for generation in ledger.list_generations(entity)
        for each in generation.plan.derived_aggregates
        if each.on_expiry == "keep"
    }
    return frozenset(kept - ledger.list_disabled(entity))


def list_row_lines(row: ArchivedRow, restored: int | None, ledger: Ledger) -> Iterator[Line]:
    """What the stream has counted of a row: its expiry, and its first restore.

    ``restored``: the generation of the image that this restore wrote, if there was one. It has the
    fields of the row, as field migrations give them to an item of that generation.

    Raises:
        Exception: this code cannot compute the row.
    """
    if row.gen is None or is_dismissed(row.item):
        return
    expired = PlannedImage.parse(row.item, ledger)
    for tally, amount in select_kept(expired.plan, expired.amounts).items():
        yield _build_line(tally, render_expiry(row.seq), amount)
    if restored is not None:
        written = Generation(restored, ledger.find_plan(row.entity, restored))
        image = {
            **migrate_image(ledger, row.entity, row.item, written),
            "gen": attributes.to_value(restored),
        }
        new = PlannedImage.parse(image, ledger)
        for tally, amount in compute_taken_back(new, row.gen, ledger).items():
            yield _build_line(tally, render_restore(row.seq), -amount)


def _build_line(tally: str, event: str, amount: Amount) -> Line:
    return ["item", tally, event, "kept", to_plain_amount(amount)]
