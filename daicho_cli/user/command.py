"""``daicho user``: creates a user of a tenant in the user pool of a stack."""

from __future__ import annotations

from typing import Annotated

import boto3
import typer

from daicho.runtime.token_claims import TENANT_CLAIM
from daicho_cli.aws.stacks import Stack
from daicho_cli.options import LOCAL, StackFile, Stage, check_tenant
from daicho_cli.terminal import CommandError, end_on_errors
from daicho_cli.user.pool_user import PoolUser, create_or_update_user


def user(
    name: Annotated[str, typer.Argument(help="The name that the user signs in with.")],
    tenant: Annotated[str, typer.Option(help="The tenant; it cannot be changed afterwards.")],
    email: Annotated[str, typer.Option(help="The e-mail address, which counts as verified.")],
    password: Annotated[
        str,
        typer.Option(
            prompt=True,
            hide_input=True,
            confirmation_prompt=True,
            envvar="DAICHO_PASSWORD",
            help="At least 12 characters with upper and lower case, digit and symbol.",
        ),
    ],
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
        deployed = Stack.find(stage, stack)
        if "UserPoolId" not in deployed.resources:
            raise CommandError(f"{deployed.name} has no user pool: its users are its issuer's")
        claim = deployed.resources.get("TenantClaim", TENANT_CLAIM)
        wanted = PoolUser(
            name=name, tenant=tenant, email=email, groups=group or (), tenant_claim=claim
        )
        cognito = boto3.client(
            "cognito-idp", endpoint_url=deployed.endpoint, region_name=deployed.region
        )
        is_new = create_or_update_user(cognito, deployed["UserPoolId"], wanted, password)
    done = "was created" if is_new else "existed: its password was set"
    joined = f"; groups: {', '.join(group)}" if group else ""
    typer.echo(f"{name} of {tenant} {done}{joined}")
