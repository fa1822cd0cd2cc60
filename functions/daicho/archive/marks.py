"""Marks of tenants that are forgotten: what keeps a late row of theirs out of the archive. Pure."""

from __future__ import annotations

import datetime as dt

from daicho import images, keys
from daicho.derive import ItemKey
from daicho.images import Image

FORGOTTEN = keys.render("", "forgotten")
"""The partition that holds the marks, one a tenant."""


def forgotten_key(tenant: str) -> ItemKey:
    """Where a tenant's mark stands."""
    return ItemKey(FORGOTTEN, keys.render(tenant))


def is_forgotten(mark: Image | None, deleted_at: dt.datetime) -> bool:
    """Whether what was deleted at that time is to be forgotten."""
    until = images.text(mark, "until") if mark else None
    return until is not None and keys.instant(deleted_at) <= until
