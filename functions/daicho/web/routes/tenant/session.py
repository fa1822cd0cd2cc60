"""What the routes of a tenant's administrator work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.tenants.lifecycle import Tenants
from daicho.tenants.tenant_jobs import TenantJobs

if TYPE_CHECKING:
    from daicho.archive.reader import ArchiveReader


@dataclass(frozen=True)
class ReadableArchive:
    """The archive, and the ledger by which its items are read."""

    reader: ArchiveReader
    ledger: Ledger


@dataclass(frozen=True)
class TenantSession:
    """The tenant of one request. ``open_archive``: gives None if there is no archive."""

    tenants: Tenants
    access: Access
    subject: str
    open_archive: Callable[[], ReadableArchive | None]

    @property
    def tenant(self) -> str:
        """The tenant of the request."""
        return self.access.tenant

    @property
    def jobs(self) -> TenantJobs:
        """Its jobs."""
        return TenantJobs(self.tenants, self.tenant, self.subject)
