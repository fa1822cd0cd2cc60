"""What the routes of a tenant's administrator work on."""

from __future__ import annotations

from dataclasses import replace

from daicho.query.access import Access
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.tenants.archive_source import ArchiveSource
from daicho.tenants.lifecycle import Tenants, guard_table
from daicho.tenants.tenant_jobs import TenantJobs


@dataclass(frozen=True)
class TenantSession:
    """The tenant of one request. ``archive`` is None if there is none."""

    tenants: Tenants
    access: Access
    subject: str
    archive: ArchiveSource | None

    @property
    def tenant(self) -> str:
        """The tenant of the request."""
        return self.access.tenant

    @property
    def jobs(self) -> TenantJobs:
        """Its jobs."""
        own = replace(self.tenants, store=guard_table(self.tenants.store, self.tenant))
        return TenantJobs(own, self.tenant, self.subject)
