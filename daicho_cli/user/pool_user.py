"""A user of the user pool: its tenant is set when it is created, and never afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daicho_cli.terminal import CommandError

if TYPE_CHECKING:
    from mypy_boto3_cognito_idp import CognitoIdentityProviderClient

TENANT_CLAIM = "custom:tenant"


@dataclass(frozen=True, kw_only=True)
class PoolUser:
    """A user, and the groups that it is to be a member of."""

    name: str
    tenant: str
    email: str
    groups: Sequence[str] = ()
    tenant_claim: str = TENANT_CLAIM


def create_user(
    cognito: CognitoIdentityProviderClient, pool: str, user: PoolUser, password: str
) -> bool:
    """Create a user, or repeat the rest if it exists; whether it is new.

    The e-mail address is verified: otherwise Cognito neither accepts it at sign-in nor sends a code
    to it.

    Raises:
        CommandError: it exists in another tenant.
        ClientError: AWS refuses, for example the password.
    """
    attributes = {"email": user.email, "email_verified": "true", user.tenant_claim: user.tenant}
    try:
        cognito.admin_create_user(
            UserPoolId=pool,
            Username=user.name,
            MessageAction="SUPPRESS",
            UserAttributes=[{"Name": name, "Value": value} for name, value in attributes.items()],
        )
        is_new = True
    except cognito.exceptions.UsernameExistsException:
        _check_tenant(cognito, pool, user)
        is_new = False
    cognito.admin_set_user_password(
        UserPoolId=pool, Username=user.name, Password=password, Permanent=True
    )
    for group in user.groups:
        cognito.admin_add_user_to_group(UserPoolId=pool, Username=user.name, GroupName=group)
    return is_new


def _check_tenant(cognito: CognitoIdentityProviderClient, pool: str, user: PoolUser) -> None:
    existing = cognito.admin_get_user(UserPoolId=pool, Username=user.name)["UserAttributes"]
    attributes = {each["Name"]: each.get("Value", "") for each in existing}
    if attributes.get(user.tenant_claim) != user.tenant:
        tenant = attributes.get(user.tenant_claim) or "no tenant"
        raise CommandError(f"{user.name} exists in {tenant}, which cannot be changed")
