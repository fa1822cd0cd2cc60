"""The claims of a token: which of them name the tenant, the groups and the subject."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.token_claims import (
    GROUPS_CLAIM,
    MACHINE_ROLES_CLAIM,
    SUBJECT_CLAIM,
    TENANT_CLAIM,
)

Claims = Mapping[str, Any]
"""The claims of a token, which the gateway has checked, by their names."""


@dataclass(frozen=True)
class ClaimNames:
    """The names of the claims that the API reads.

    ``groups``: the roles of a caller are the groups of all these claims.
    """

    tenant: str = TENANT_CLAIM
    groups: tuple[str, ...] = (GROUPS_CLAIM, MACHINE_ROLES_CLAIM)
    subject: str = SUBJECT_CLAIM

    def read_groups(self, claims: Claims) -> frozenset[str]:
        """The groups of a caller."""
        return frozenset(group for name in self.groups for group in split_groups(claims.get(name)))


COGNITO_CLAIMS = ClaimNames()
"""Those of the stack's own user pool."""


def split_groups(claim: object) -> list[str]:
    """The groups in a claim; none in a claim of another type.

    A gateway passes a list of a token on as ``[admin staff]``, without quotes, so a group whose
    name contains a space is read as several. Other forms: a list as JSON, and groups separated by
    spaces or commas, as a scope is written.
    """
    if isinstance(claim, list):
        return [group for group in claim if isinstance(group, str)]
    if not isinstance(claim, str):
        return []
    text = claim.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            listed = json.loads(text)
        except ValueError:
            listed = None
        if isinstance(listed, list) and all(isinstance(group, str) for group in listed):
            return listed
        text = text[1:-1]
    return text.replace(",", " ").split()
