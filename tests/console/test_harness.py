"""The harness itself: what it serves, and that it finds what a page does wrong."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.console.browser import check_accessibility, open_page
from tests.console.stack import ConsoleStack


def test_a_script_error_fails_a_test(browser: Browser, server: ConsoleStack) -> None:
    with pytest.raises(AssertionError, match="planted"), open_page(browser) as page:
        page.goto(server.gateway.url + "/")
        page.evaluate("setTimeout(() => { throw new Error('planted') })")
        page.wait_for_timeout(50)


def test_a_violation_of_the_policy_fails_a_test(browser: Browser, server: ConsoleStack) -> None:
    with pytest.raises(AssertionError, match="policy: style-src-attr"), open_page(browser) as page:
        page.goto(server.url)
        page.evaluate("document.body.setAttribute('style', 'color: red'); 0")
        page.wait_for_timeout(500)


def test_axe_finds_what_is_not_accessible(anonymous: Page, server: ConsoleStack) -> None:
    anonymous.goto(server.gateway.url + "/")
    check_accessibility(anonymous)
    anonymous.evaluate("document.body.append(document.createElement('img')); 0")
    with pytest.raises(AssertionError, match="image-alt"):
        check_accessibility(anonymous)


def test_the_issuer_redeems_a_code_once_with_its_verifier_only(server: ConsoleStack) -> None:
    with httpx.Client(base_url=server.issuer.url) as http:
        query = {
            "client_id": "console-of-the-tests",
            "response_type": "code",
            "redirect_uri": server.url,
            "state": "s",
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            "code_challenge_method": "S256",
        }
        assert "Username" in http.get("/oauth2/authorize", params=query).text
        wrong = {**query, "redirect_uri": f"{server.url}/"}
        assert http.get("/oauth2/authorize", params=wrong).status_code == 400
        signed = http.post("/login", data={**query, "username": "acme", "password": "wrong"})
        assert "Incorrect" in signed.text
        given = {**query, "username": "acme", "password": "Only-in-tests-1"}
        redeem = {"grant_type": "authorization_code", "client_id": query["client_id"]}
        for verifier, status in (
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", 200),
            ("another", 400),
        ):
            location = http.post("/login", data=given).headers["location"]
            sent = {**redeem, "code": dict(httpx.URL(location).params)["code"]}
            sent |= {"redirect_uri": server.url, "code_verifier": verifier}
            assert http.post("/oauth2/token", data=sent).status_code == status
            assert http.post("/oauth2/token", data=sent).status_code == 400
