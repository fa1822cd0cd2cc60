"""The claims of a token: which of them name the tenant, the groups and the subject.

A gateway passes all claims on as text, a list as ``[admin staff]``. This text is the same for the
groups ``x`` and ``operator`` and for the one group ``x operator``. So a list is read from the token
itself, whose signature the gateway has checked, and only if it agrees with the gateway's text.
"""

from __future__ import annotations

import base64
import json
import re
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
SCOPE_CLAIMS = ("scope", "scp")
"""Claims whose text is a list: a scope contains no space (RFC 6749, section 3.3)."""
_TOKEN = re.compile(r"(?:Bearer +)?[\w-]+\.([\w-]+)\.[\w-]+", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class ClaimNames:
    """The names of the claims that the API reads.

    ``groups``: the roles of a caller are the groups of all these claims.
    """

    tenant: str = TENANT_CLAIM
    groups: tuple[str, ...] = (GROUPS_CLAIM, MACHINE_ROLES_CLAIM)
    subject: str = SUBJECT_CLAIM

    def read_groups(self, claims: Claims, token: Claims | None = None) -> frozenset[str]:
        """The groups of a caller.

        ``token``: what the token of the request contains; None for an event without a token. A
        list of several groups gives no role then, because its text is ambiguous.
        """
        return frozenset(
            group for name in self.groups for group in _read_claim(name, claims.get(name), token)
        )


COGNITO_CLAIMS = ClaimNames()
"""Those of the stack's own user pool."""


def read_token(authorization: str) -> Claims:
    """The claims of the token in a header ``Authorization``; none if it is of another form."""
    found = _TOKEN.fullmatch(authorization.strip())
    encoded = found[1] if found else ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _read_claim(name: str, claim: object, token: Claims | None) -> list[str]:
    """The groups in one claim; none if the token contains another value than the gateway passes."""
    if not isinstance(claim, str):
        return split_groups(claim)
    if name in SCOPE_CLAIMS and not claim.startswith("["):
        return claim.split()
    if token is None:
        return split_groups(claim)
    value = token.get(name)
    if isinstance(value, list):
        groups = [each for each in value if isinstance(each, str)]
        return groups if f"[{' '.join(groups)}]" == claim else []
    return [claim] if claim and value == claim else []


def split_groups(claim: object) -> list[str]:
    """The groups in a claim as a gateway passes it on, without the token.

    Text is one group, in brackets or not. No group is read of text in brackets with a space: it is
    the same for the groups ``not`` and ``admin`` and for the one group ``not admin``.
    """
    if isinstance(claim, list):
        return [group for group in claim if isinstance(group, str)]
    if not isinstance(claim, str) or not claim:
        return []
    if not (claim.startswith("[") and claim.endswith("]")):
        return [claim]
    group = claim[1:-1]
    return [group] if group and " " not in group else []
