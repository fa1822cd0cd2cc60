"""The claims that the user pool adds to an access token: tenant and roles of a user or a machine.

Cognito passes an event to a trigger before it signs a token, and takes claims from the answer.
Source: Amazon Cognito Developer Guide, "Pre token generation Lambda trigger", event version V3_0,
the only one for client credentials. This module decides what the answer is; it has no state.

The tenant of a machine is a scope that an administrator has allowed to its app client. A caller
can request fewer scopes than its client is allowed, and no other ones. The metadata of a request
(``clientMetadata``) is the caller's own text: nothing here reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass

TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
"""A tenant's name, as a token contains it."""
ROLE = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""A machine's role, as a scope contains it."""

SUBJECT_CLAIM = "sub"
"""The claim that names the caller, of every issuer."""
TENANT_CLAIM = "custom:tenant"
GROUPS_CLAIM = "cognito:groups"
"""The claims of the stack's user pool by default."""
MACHINE_ROLES_CLAIM = "custom:role"
"""A trigger cannot add a claim that begins with ``cognito:``, so machines have this one."""


@dataclass(frozen=True)
class ClaimNames:
    """The names of the claims that the API reads.

    ``groups``: the roles of a caller are the groups of all these claims.
    """

    tenant: str = TENANT_CLAIM
    groups: tuple[str, ...] = (GROUPS_CLAIM, MACHINE_ROLES_CLAIM)


COGNITO_CLAIMS = ClaimNames()
"""Those of the stack's own user pool."""
OPERATOR = "operator"
"""The group of those who operate a stack: they may call the routes under ``/ops``."""

RESOURCE_SERVER = "daicho"
TENANT_SCOPE = "tenant."
ROLE_SCOPE = "role."
"""Scopes of machines: ``daicho/tenant.acme``, ``daicho/role.admin``."""
_KINDS = (TENANT_SCOPE, ROLE_SCOPE)
CLIENT_CREDENTIALS_SOURCE = "TokenGeneration_ClientCredentials"
"""The source of an event for an app client alone, without a user."""


def list_machine_scopes(tenant: str, roles: Sequence[str]) -> list[str]:
    """The names of the scopes of a machine, without the resource server."""
    return [f"{TENANT_SCOPE}{tenant}", *(f"{ROLE_SCOPE}{role}" for role in roles)]


def add_claims(event: Mapping[str, Any], names: ClaimNames) -> dict[str, Any]:
    """The event with the claims of the access token in its response.

    ``names``: the claims that the API reads. The ID token stays as it is.
    """
    request = event.get("request") or {}
    if event.get("triggerSource") == CLIENT_CREDENTIALS_SOURCE:
        claims = _read_scopes(request.get("scopes") or (), names.tenant)
    else:
        attributes = request.get("userAttributes") or {}
        # An access token has its subject and Cognito's groups already.
        added = [name for name in (names.tenant, *names.groups) if not name.startswith("cognito:")]
        claims = {name: attributes[name] for name in added if attributes.get(name)}
    changes = {"accessTokenGeneration": {"claimsToAddOrOverride": claims}}
    return {**event, "response": {"claimsAndScopeOverrideDetails": changes}}


def _read_scopes(scopes: Sequence[str], tenant_claim: str) -> dict[str, Any]:
    """The claims of a machine; none for scopes that name no tenant, or several."""
    tenants, roles = (_strip_prefix(scopes, f"{RESOURCE_SERVER}/{kind}") for kind in _KINDS)
    if len(tenants) != 1:
        return {}
    return {tenant_claim: tenants[0], **({MACHINE_ROLES_CLAIM: roles} if roles else {})}


def _strip_prefix(scopes: Sequence[str], prefix: str) -> list[str]:
    """The scopes that begin with ``prefix``, without it."""
    return sorted({scope.removeprefix(prefix) for scope in scopes if scope.startswith(prefix)})
