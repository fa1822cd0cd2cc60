"""``daicho user``: a user of the user pool; tenant and address are set at its creation only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from daicho.runtime.token_claims import TENANT_CLAIM
from daicho_cli.aws import Stack
from daicho_cli.options import LOCAL, StackFile, Stage, check_tenant
from daicho_cli.terminal import CommandError, OptionError, end_on_errors

if TYPE_CHECKING:
    from mypy_boto3_cognito_idp import CognitoIdentityProviderClient


class UserExistsError(CommandError):
    """The pool has a user of this name or with this e-mail address."""


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
) -> None:
    """Create a user that does not exist.

    The e-mail address is verified: otherwise Cognito neither accepts it at sign-in nor sends a code
    to it.

    Raises:
        UserExistsError: the name or the e-mail address belongs to an existing user, which is not
            changed. Cognito answers with one error for both: github.com/boto/boto3/issues/3213.
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
    except (
        cognito.exceptions.UsernameExistsException,
        cognito.exceptions.AliasExistsException,
    ) as error:
        raise UserExistsError(f"the user pool has a user {user.name} or {user.email}") from error
    _set_password_and_groups(cognito, pool, user, password)


def create_or_update_user(
    cognito: CognitoIdentityProviderClient, pool: str, user: PoolUser, password: str
) -> bool:
    """Create a user, or set the password of an existing one and add it to its groups.

    Returns whether it is new.

    Raises:
        CommandError: the user has another tenant or e-mail address, or the address belongs to
            another user. An address is never changed: Cognito would take it from another user who
            has it (github.com/boto/boto3/issues/3213).
        ClientError: AWS refuses, for example the password.
    """
    try:
        create_user(cognito, pool, user, password)
    except UserExistsError:
        _check_attributes(cognito, pool, user)
        _set_password_and_groups(cognito, pool, user, password)
        return False
    return True


def _set_password_and_groups(
    cognito: CognitoIdentityProviderClient, pool: str, user: PoolUser, password: str
) -> None:
    cognito.admin_set_user_password(
        UserPoolId=pool, Username=user.name, Password=password, Permanent=True
    )
    for group in user.groups:
        _add_to_group(cognito, pool, user.name, group)


def _add_to_group(cognito: CognitoIdentityProviderClient, pool: str, user: str, group: str) -> None:
    """Add a user to a group, which is created if the pool has none of this name."""
    try:
        cognito.admin_add_user_to_group(UserPoolId=pool, Username=user, GroupName=group)
    except cognito.exceptions.ResourceNotFoundException:
        with suppress(cognito.exceptions.GroupExistsException):  # another run was faster
            cognito.create_group(UserPoolId=pool, GroupName=group)
        cognito.admin_add_user_to_group(UserPoolId=pool, Username=user, GroupName=group)


def _check_attributes(cognito: CognitoIdentityProviderClient, pool: str, user: PoolUser) -> None:
    try:
        existing = cognito.admin_get_user(UserPoolId=pool, Username=user.name)["UserAttributes"]
    except cognito.exceptions.UserNotFoundException:
        raise CommandError(f"the address {user.email} belongs to another user") from None
    attributes = {each["Name"]: each.get("Value", "") for each in existing}
    if attributes.get(user.tenant_claim) != user.tenant:
        tenant = attributes.get(user.tenant_claim) or "no tenant"
        raise CommandError(f"{user.name} exists in {tenant}, which cannot be changed")
    address = attributes.get("email", "")
    if address.casefold() != user.email.casefold():
        raise CommandError(
            f"{user.name} has the address {address or 'none'}, which this command does not change"
        )


def user(
    name: Annotated[str, typer.Argument(help="The name that the user signs in with.")],
    tenant: Annotated[str, typer.Option(help="The tenant; it cannot be changed afterwards.")],
    email: Annotated[str, typer.Option(help="The e-mail address, which counts as verified.")],
    password: Annotated[
        str,
        typer.Option(
            envvar="DAICHO_PASSWORD",
            help="At least 12 characters with upper and lower case, digit and symbol. Without it, "
            "the terminal asks for it.",
        ),
    ] = "",
    group: Annotated[
        list[str] | None, typer.Option(help="A group, for example admin; several times.")
    ] = None,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Create a user of a tenant in the user pool, with a password.

    Repeat the command to set another password or to add a group. Tenant and address of an existing
    user are never changed. Exit code 2: the command could not run.
    """
    with end_on_errors("user"):
        check_tenant(tenant)
        if not password and not sys.stdin.isatty():
            raise OptionError("there is no terminal to ask for the password: set DAICHO_PASSWORD")
        password = password or typer.prompt("Password", hide_input=True, confirmation_prompt=True)
        deployed = Stack.find(stage, stack)
        if "UserPoolId" not in deployed.resources:
            raise CommandError(f"{deployed.name} has no user pool: its users are its issuer's")
        claim = deployed.resources.get("TenantClaim", TENANT_CLAIM)
        wanted = PoolUser(
            name=name, tenant=tenant, email=email, groups=group or (), tenant_claim=claim
        )
        cognito = deployed.open_client("cognito-idp")
        is_new = create_or_update_user(cognito, deployed["UserPoolId"], wanted, password)
    done = "was created" if is_new else "existed: its password was set"
    joined = f"; groups: {', '.join(group)}" if group else ""
    typer.echo(f"{name} of {tenant} {done}{joined}")
