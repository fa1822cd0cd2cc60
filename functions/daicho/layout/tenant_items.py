"""The keys of the items that the stack keeps about a tenant."""

from __future__ import annotations

from functools import lru_cache

from daicho.storage import keys
from daicho.storage.item_key import ItemKey

CLOSED_SORT_KEY = "closed"


def render_tenant_partition(tenant: str) -> str:
    """The partition of the stack's items about a tenant. The tenant's own items are elsewhere."""
    return keys.render("", "tenant", tenant)


@lru_cache(maxsize=1024)  # each request asks for it
def build_closed_mark_key(tenant: str) -> ItemKey:
    """The key of the mark that a tenant is closed."""
    return ItemKey(render_tenant_partition(tenant), CLOSED_SORT_KEY)


def build_job_key(tenant: str, id: str) -> ItemKey:
    """The key of a job."""
    return ItemKey(render_tenant_partition(tenant), keys.render("job", id))
