"""The kinds of jobs, each imported and built for the first step of such a job (ADR 0158)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.jobs.state_machine import CASCADE_PREFIX, RESTORE_PREFIX, VERIFY_PREFIX
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.settings import Settings
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from daicho.stream.shard_progress import EmulatedStream

if TYPE_CHECKING:
    from daicho.book.cascade_worker import CascadeWorker
    from daicho.rebuild.stack_jobs import StackJobs
    from daicho.recovery.recovery import RecoveryWorker
    from daicho.release.older_writers import OlderWriters
    from daicho.tenants.deletion import DeletionWorker
    from daicho.tenants.restore_worker import RestoreWorker
    from daicho.verify.verify import VerifyWorker

W = TypeVar("W", "StackJobs", "RecoveryWorker")


@dataclass(frozen=True)
class JobKinds:
    """The jobs of one stack. ``ledger``: by default the newest of the deployment."""

    settings: Settings
    table: Table
    dependencies: Dependencies
    ledger: Ledger | None

    @cached_property
    def deletion(self) -> DeletionWorker:
        """Deletions of tenants."""
        from daicho.tenants.deletion import DeletionWorker  # noqa: PLC0415

        name, threads = self.settings.object_bucket, self.dependencies.parallelism
        return DeletionWorker.build(
            self.settings,
            self.table,
            self._failures,
            self.dependencies.bucket(name) if name else None,
            threads=threads,
            now=self.dependencies.now,
        )

    def choose_of_tenant(self, job: str) -> DeletionWorker | RestoreWorker | CascadeWorker:
        """What works on a tenant's job, by its name in the input of the state machine."""
        if job.startswith(CASCADE_PREFIX):
            return self.cascades
        return self.restores if job.startswith(RESTORE_PREFIX) else self.deletion

    @cached_property
    def restores(self) -> RestoreWorker:
        """Restores of archived items. They write as the API does."""
        from daicho.archive.reader import ArchiveReader  # noqa: PLC0415
        from daicho.tenants.restore_worker import RestoreWorker  # noqa: PLC0415

        settings, dependencies = self.settings, self.dependencies
        ledger = self._load_ledger().with_migrations(settings.migration_package)
        table = self._build_older_writers(ledger, ledger.archived_types).announce_writes(self.table)
        archive = ArchiveReader(dependencies.bucket(settings.archive_bucket, attempts=2))
        return RestoreWorker(table, dependencies.now, archive, ledger, dependencies.parallelism)

    @cached_property
    def cascades(self) -> CascadeWorker:
        """Deletions of items with what refers to them. They write as the API does."""
        from importlib import import_module  # noqa: PLC0415

        from daicho.book.cascade_worker import CascadeWorker  # noqa: PLC0415
        from daicho.declare.registry import Daicho  # noqa: PLC0415

        settings, dependencies = self.settings, self.dependencies
        daicho = Daicho.discover(import_module(settings.domain_package), settings.migration_package)
        ledger = daicho.check_locked(self._load_ledger())
        return CascadeWorker(
            self._build_older_writers(ledger).announce_writes(self.table),
            dependencies.now,
            ledger,
            {entity.__name__: entity for entity in daicho.entities},
            lambda: dependencies.bucket(settings.object_bucket),
            dependencies.sleep,
        )

    def _load_ledger(self) -> Ledger:
        return self.ledger or Ledger.load_newest(self.settings.lock_file)

    def _build_older_writers(
        self, ledger: Ledger, types: Sequence[str] | None = None
    ) -> OlderWriters:
        from daicho.release.older_writers import OlderWriters  # noqa: PLC0415

        return OlderWriters(self.table, ledger, self.dependencies.sleep, types)

    @cached_property
    def stack_jobs(self) -> StackJobs:
        """Rebuilds and purges."""
        from daicho.rebuild.stack_jobs import StackJobs  # noqa: PLC0415

        return self._build(StackJobs)

    @cached_property
    def verification(self) -> VerifyWorker:
        """Verifications, and recoveries."""
        from daicho.recovery.recovery import RecoveryWorker  # noqa: PLC0415

        return self._build(RecoveryWorker)

    def choose_of_stack(self, job: str) -> StackJobs | VerifyWorker:
        """What works on a job of the stack, by its name in the input of the state machine."""
        return self.verification if job.startswith(VERIFY_PREFIX) else self.stack_jobs

    def _build(self, kind: type[W]) -> W:
        from daicho.archive.reader import ArchiveReader  # noqa: PLC0415

        settings, dependencies, archive = self.settings, self.dependencies, None
        if settings.archive_bucket:
            archive = ArchiveReader(dependencies.bucket(settings.archive_bucket, attempts=2))
        emulated = EmulatedStream() if settings.emulated_stream else None
        return kind.build(
            settings,
            self.table,
            emulated or dependencies.stream(settings.table_name),
            self._failures,
            self._load_ledger(),
            archive,
            threads=dependencies.parallelism,
            now=dependencies.now,
        )

    @property
    def _failures(self) -> Bucket:
        return self.dependencies.bucket(self.settings.failure_bucket)
