"""A demo user that exists signs in; only what it lacks is added."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from daicho.runtime.token_claims import GROUPS_CLAIM, TENANT_CLAIM
from daicho_cli.local import users
from daicho_cli.user import PoolUser


class Cognito:
    """A pool with one user at most, and the calls that change it."""

    class exceptions:
        class NotAuthorizedException(Exception): ...

        class UserNotFoundException(Exception): ...

    def __init__(self, claims: dict[str, Any] | None) -> None:
        self.claims = claims

    def initiate_auth(self, **_: Any) -> Any:
        if self.claims is None:
            raise self.exceptions.UserNotFoundException
        body = base64.urlsafe_b64encode(json.dumps(self.claims).encode()).decode().rstrip("=")
        return {"AuthenticationResult": {"IdToken": f"h.{body}.s"}}


@pytest.mark.parametrize(
    ("claims", "is_updated"),
    [
        ({TENANT_CLAIM: "acme", GROUPS_CLAIM: ["staff", "admin", "more"]}, False),
        ({TENANT_CLAIM: "acme", GROUPS_CLAIM: ["admin"]}, True),
        ({TENANT_CLAIM: "globex", GROUPS_CLAIM: ["staff", "admin"]}, True),
        (None, True),
    ],
)
def test_a_user_is_changed_only_if_its_token_lacks_something(
    claims: dict[str, Any] | None, *, is_updated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cognito: Any = Cognito(claims)
    updated: list[PoolUser] = []

    def update(_: Any, pool: str, user: PoolUser, password: str) -> None:
        assert (pool, password) == ("pool", users.PASSWORD)
        updated.append(user)
        cognito.claims = {TENANT_CLAIM: user.tenant, GROUPS_CLAIM: user.groups}

    monkeypatch.setattr(users, "create_or_update_user", update)
    assert users.make_token(cognito, "pool", "client", "acme", "admin", ["staff"]).startswith("h.")
    assert [(user.tenant, user.groups) for user in updated] == (
        [("acme", ["admin", "staff"])] if is_updated else []
    )
