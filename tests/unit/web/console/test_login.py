"""The settings of the console's login: the claims that name a user, and whom the page may call."""

from __future__ import annotations

from daicho.runtime.token_claims import COGNITO_CLAIMS, ClaimNames
from daicho.web.console.login import list_login_origins, make_config

LOGIN = {
    "client": "console",
    "authorize": "https://login.example/authorize",
    "token": "https://login.example/token",
}


def test_the_page_reads_the_same_claims_as_the_api() -> None:
    own = ClaimNames("https://acme.example/org", ("groups",), "email")
    config, cognito = make_config(LOGIN, "t", own), make_config(LOGIN, "t", COGNITO_CLAIMS)
    assert config is not None
    assert cognito is not None
    assert config["claims"] == {
        "subject": "email",
        "tenant": "https://acme.example/org",
        "groups": ["groups"],
    }
    assert cognito["claims"]["tenant"] == "custom:tenant"
    assert (config["revoke"], config["logout"]) == (None, None)


def test_the_page_may_call_the_endpoint_that_revokes() -> None:
    revoke = {"revoke": "https://other.example/revoke"}
    assert list_login_origins(LOGIN) == ["https://login.example"]
    assert list_login_origins(LOGIN | revoke) == ["https://login.example", "https://other.example"]
    config = make_config(LOGIN | revoke, "t", COGNITO_CLAIMS)
    assert config is not None
    assert config["revoke"] == revoke["revoke"]
