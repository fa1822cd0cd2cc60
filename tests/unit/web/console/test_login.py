"""The settings of the console's login: the claims that name a user, and whom the page may call."""

from __future__ import annotations

from daicho.runtime.token_claims import COGNITO_CLAIMS, ClaimNames
from daicho.web.console.login import make_config
from daicho.web.console.pages import ConsolePages
from daicho.web.openapi.pages import CONSOLE_PATH

LOGIN = {
    "client": "console",
    "authorize": "https://login.example/authorize",
    "token": "https://login.example/token",
}


def test_the_page_reads_the_same_claims_as_the_api() -> None:
    own = ClaimNames("https://acme.example/org", ("groups",))
    config, cognito = make_config(LOGIN, "t", own), make_config(LOGIN, "t", COGNITO_CLAIMS)
    assert config is not None
    assert cognito is not None
    assert config["claims"] == {
        "subject": "sub",
        "tenant": "https://acme.example/org",
        "groups": ["groups"],
    }
    assert cognito["claims"]["tenant"] == "custom:tenant"
    assert (config["revoke"], config["logout"]) == (None, None)


def read_policy(settings: dict[str, str]) -> str:
    page = ConsolePages(settings, "t", COGNITO_CLAIMS).list_routes()[CONSOLE_PATH]()
    return str(page.headers["Content-Security-Policy"])


def test_the_page_may_call_the_endpoint_that_revokes() -> None:
    revoke = {"revoke": "https://other.example/revoke"}
    assert "connect-src 'self' https://login.example;" in read_policy(LOGIN)
    both = "connect-src 'self' https://login.example https://other.example;"
    assert both in read_policy(LOGIN | revoke)
    config = make_config(LOGIN | revoke, "t", COGNITO_CLAIMS)
    assert config is not None
    assert config["revoke"] == revoke["revoke"]
