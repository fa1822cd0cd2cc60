"""The user of a run: created in the stack's user pool, and removed at the end."""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from daicho.runtime.token_claims import TENANT_CLAIM
from daicho_cli.aws.stacks import StackError
from daicho_cli.local.users import ADMIN
from daicho_cli.smoke.target import Target
from daicho_cli.user.pool_user import PoolUser, UserExistsError, create_user

_KINDS = (string.ascii_uppercase, string.ascii_lowercase, string.digits, "!#%+-_")


@contextmanager
def create_run_user(target: Target, tenant: str, roles: Sequence[str] = ()) -> Iterator[str]:
    """Create an administrator of a tenant with these roles too, and sign in; the ID token.

    The user is removed when the context closes, also after an error or an interruption.

    Raises:
        StackError: the stack has no user pool.
        UserExistsError: the pool has a user of this name. It is not this run's, and is not changed.
        ClientError, BotoCoreError: Cognito refuses.
    """
    pool, client_id = target.outputs.get("UserPoolId"), target.outputs.get("UserPoolClientId")
    if not pool or not client_id:
        raise StackError(f"{target.title} has no user pool: give a token with --token")
    cognito, password = target.open_client("cognito-idp"), _make_password()
    user = PoolUser(
        name=tenant,
        tenant=tenant,
        email=f"{tenant}@example.com",
        groups=list(dict.fromkeys([ADMIN, *roles])),
        tenant_claim=target.outputs.get("TenantClaim", TENANT_CLAIM),
    )
    with ExitStack() as removal:
        # Before the request: an interrupted one may have created the user.
        removal.callback(_remove, cognito, pool, tenant)
        try:
            create_user(cognito, pool, user, password)
        except UserExistsError:
            removal.pop_all()
            raise
        yield _sign_in(cognito, pool, client_id, tenant, password)


def _remove(cognito: Any, pool: str, user: str) -> None:
    with suppress(cognito.exceptions.UserNotFoundException):  # it could not be created
        cognito.admin_delete_user(UserPoolId=pool, Username=user)


def _sign_in(cognito: Any, pool: str, client_id: str, user: str, password: str) -> str:
    answer = cognito.admin_initiate_auth(
        UserPoolId=pool,
        ClientId=client_id,
        AuthFlow="ADMIN_USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": user, "PASSWORD": password},
    )
    return str(answer["AuthenticationResult"]["IdToken"])


def _make_password() -> str:
    """A random password with characters of every kind that a pool may require."""
    return "".join(secrets.choice(kind) for kind in _KINDS for _ in range(8))
