"""What the routes of a tenant's administrator work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.tenants.lifecycle import TenantAdmin, Tenants
from daicho.tenants.tenant_jobs import TenantJobList

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
    def admin(self) -> TenantAdmin:
        """Its deletion."""
        return self.tenants.open_admin(self.tenant, self.subject)

    @property
    def jobs(self) -> TenantJobList:
        """Its jobs."""
        return TenantJobList(self.tenants, self.tenant, self.subject)
