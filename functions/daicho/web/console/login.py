"""How the console signs in: the endpoints of the issuer, from the settings of the function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.runtime.token_claims import SUBJECT_CLAIM, ClaimNames

SCOPE = "openid"
OPERATOR_GROUP, ADMIN_GROUP = "operator", "admin"
_NEEDED = ("client", "authorize", "token")


def make_config(
    settings: Mapping[str, str], title: str, claims: ClaimNames
) -> dict[str, Any] | None:
    """The settings that the page reads; None without the client or one of its endpoints.

    ``settings``: the variables ``CONSOLE_*`` by the rest of their names in lower case, and
    ``stage``. ``claims``: the page compares them when somebody signs in again.
    """
    if not all(settings.get(name) for name in _NEEDED):
        return None
    return {
        "stage": settings.get("stage", ""),
        "title": title,
        "issuer": settings.get("issuer", ""),
        **{name: settings[name] for name in _NEEDED},
        "logout": settings.get("logout") or None,
        "revoke": settings.get("revoke") or None,
        "claims": {
            "subject": SUBJECT_CLAIM,
            "tenant": claims.tenant,
            "groups": [*claims.groups],
        },
        "scope": settings.get("scope") or SCOPE,
        "operator_group": settings.get("operator_group") or OPERATOR_GROUP,
        "admin_group": settings.get("admin_group") or ADMIN_GROUP,
        "demo": settings.get("stage") == "local",
    }
