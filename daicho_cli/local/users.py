"""The demo tenants' users, and their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from daicho.runtime.token_claims import GROUPS_CLAIM, TENANT_CLAIM
from daicho.web.http.request import read_token
from daicho_cli.user import PoolUser, create_or_update_user

if TYPE_CHECKING:
    from mypy_boto3_cognito_idp import CognitoIdentityProviderClient

TENANTS = ("acme", "globex")
ADMIN = "admin"
PASSWORD = "Only-on-this-laptop-1"  # noqa: S105 - it is valid on the local AWS only


def make_tokens(
    cognito: CognitoIdentityProviderClient,
    pool: str,
    client_id: str,
    roles: Sequence[str] = (),
    group: str | None = None,
) -> dict[str, str]:
    """An ID token of a user of each demo tenant; creates the user if necessary.

    ``roles``: those of the user, so that it may call every route. ``group``: see `make_token`.
    """
    return {
        tenant: make_token(cognito, pool, client_id, tenant, group, roles) for tenant in TENANTS
    }


def name_user(tenant: str, group: str | None = None) -> str:
    """The name that a demo user signs in with."""
    return f"demo-{tenant}-{group}" if group else f"demo-{tenant}"


def make_token(
    cognito: CognitoIdentityProviderClient,
    pool: str,
    client_id: str,
    tenant: str,
    group: str | None = None,
    roles: Sequence[str] = (),
) -> str:
    """An ID token of a tenant's user, or of a group's member; creates the user if necessary.

    ``roles``: further groups of the user.
    """
    name = name_user(tenant, group)
    groups = list(dict.fromkeys([*([group] if group else []), *roles]))
    failures = cognito.exceptions
    with suppress(failures.NotAuthorizedException, failures.UserNotFoundException):
        token = _sign_in(cognito, client_id, name)
        claims = read_token(token)
        has_tenant = claims.get(TENANT_CLAIM) == tenant
        if has_tenant and set(groups) <= set(claims.get(GROUPS_CLAIM, ())):
            return token
    user = PoolUser(name=name, tenant=tenant, email=f"{name}@{tenant}.example", groups=groups)
    create_or_update_user(cognito, pool, user, PASSWORD)
    return _sign_in(cognito, client_id, name)


def _sign_in(cognito: CognitoIdentityProviderClient, client_id: str, name: str) -> str:
    answer = cognito.initiate_auth(
        ClientId=client_id,
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": name, "PASSWORD": PASSWORD},
    )
    return answer["AuthenticationResult"]["IdToken"]
