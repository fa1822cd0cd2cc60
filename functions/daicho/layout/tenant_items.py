"""The keys of the items that the stack keeps about a tenant."""

from __future__ import annotations

from functools import lru_cache

from daicho.storage import keys
from daicho.storage.attributes import ItemKey

CLOSED_SORT_KEY = "closed"
CLOSED_CACHE_S = 5.0
"""How long a tenant is taken for open after its mark was read, in seconds. The proof of a tenant's
deletion waits for longer than that."""


def render_tenant_partition(tenant: str) -> str:
    """The partition of the stack's items about a tenant. The tenant's own items are elsewhere."""
    return keys.render("", "tenant", tenant)


@lru_cache(maxsize=1024)  # each request asks for it
def build_closed_mark_key(tenant: str) -> ItemKey:
    """The key of the mark that a tenant is closed."""
    return ItemKey(render_tenant_partition(tenant), CLOSED_SORT_KEY)


DELETIONS = keys.render("", "deletions")
"""The GSI2 partition of the deletions of all tenants."""


def build_job_index_key(tenant: str, id: str) -> dict[str, dict[str, str]]:
    """The place of a job in the list of all deletions: ids begin with their time."""
    return {"GSI2PK": {"S": DELETIONS}, "GSI2SK": {"S": keys.render(id, tenant)}}


def parse_job_index_key(sort_key: str) -> tuple[str, str]:
    """The tenant and the id of a job in the list."""
    id, tenant = keys.parse(sort_key)
    return tenant, id


def build_job_key(tenant: str, id: str) -> ItemKey:
    """The key of a job."""
    return ItemKey(render_tenant_partition(tenant), keys.render("job", id))


@lru_cache(maxsize=1024)
def build_usage_key(tenant: str, day: str) -> ItemKey:
    """The key of what a tenant consumed on a day: a date in UTC (ISO 8601)."""
    return ItemKey(keys.render("", "usage", tenant), day)


def build_usage_index_key(tenant: str, day: str) -> dict[str, dict[str, str]]:
    """The place of a tenant in the list of all tenants that consumed something on a day."""
    return {"GSI2PK": {"S": render_usage_list(day)}, "GSI2SK": {"S": tenant}}


def render_usage_list(day: str) -> str:
    """The GSI2 partition of the tenants that consumed something on a day."""
    return keys.render("", "usages", day)
