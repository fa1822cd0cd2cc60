"""The caller of a request, as its token describes it."""

from __future__ import annotations

from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class Caller:
    """Who sends a request: the subject, the groups and the tenant of the token.

    ``subject`` is empty if the token names none. The groups are the roles of the caller.
    """

    subject: str
    groups: frozenset[str]
    tenant: str

    def has_role(self, *roles: str) -> bool:
        """Whether the caller has one of these roles."""
        return not self.groups.isdisjoint(roles)
