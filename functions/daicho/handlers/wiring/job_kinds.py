"""The kinds of jobs, each imported and built for the first step of such a job (ADR 0158)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.jobs.state_machine import RESTORE_PREFIX, VERIFY_PREFIX
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.settings import Settings
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from daicho.stream.shard_progress import EmulatedStream

if TYPE_CHECKING:
    from daicho.rebuild.stack_jobs import StackJobs
    from daicho.recovery.recovery import RecoveryWorker
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

    def choose_of_tenant(self, job: str) -> DeletionWorker | RestoreWorker:
        """What works on a tenant's job, by its name in the input of the state machine."""
        return self.restores if job.startswith(RESTORE_PREFIX) else self.deletion

    @cached_property
    def restores(self) -> RestoreWorker:
        """Restores of archived items. They write as the API does."""
        from daicho.archive.reader import ArchiveReader  # noqa: PLC0415
        from daicho.release.older_writers import OlderWriters  # noqa: PLC0415
        from daicho.tenants.restore_worker import RestoreWorker  # noqa: PLC0415

        settings, dependencies, table = self.settings, self.dependencies, self.table
        ledger = self.ledger or Ledger.load_newest(settings.lock_file)
        ledger = ledger.with_migrations(settings.migration_package)
        older = OlderWriters(table, ledger, dependencies.sleep, ledger.archived_types)
        table = older.announce_writes(table)
        archive = ArchiveReader(dependencies.bucket(settings.archive_bucket, attempts=2))
        return RestoreWorker(table, archive, ledger, dependencies.now, dependencies.parallelism)

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
            self.ledger or Ledger.load_newest(settings.lock_file),
            archive,
            threads=dependencies.parallelism,
            now=dependencies.now,
        )

    @property
    def _failures(self) -> Bucket:
        return self.dependencies.bucket(self.settings.failure_bucket)
