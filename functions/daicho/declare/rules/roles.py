"""Names of callers in declarations: roles, the owner of an item, everybody of the tenant."""

from __future__ import annotations

import re
from collections.abc import Collection

from daicho.errors import DeclarationError

TENANT = "tenant"
"""Everybody of the tenant."""
OWNER = "owner"
"""The subject in the field that `daicho.owned_by_caller` declares."""
_ROLE = re.compile(r"[^\s,\[\]]{1,100}")
"""A name of a group that a claim can contain: see `daicho.web.http.request`."""

RoleArgument = str | Collection[str] | None


def read_names(argument: RoleArgument, where: str) -> tuple[str, ...]:
    """The names in an argument that takes one or several; none for None.

    Raises:
        DeclarationError: one of them cannot be the name of a group.
    """
    names = (argument,) if isinstance(argument, str) else tuple(argument or ())
    for name in names:
        if not _ROLE.fullmatch(name):
            raise DeclarationError(
                f"{where}: {name!r} is no name of a role; use a name without spaces, commas and "
                "brackets, such as 'accountant'"
            )
    return tuple(dict.fromkeys(names))
