"""The page of Swagger UI is small, loads only its own assets, and runs no script in the page."""

from __future__ import annotations

import re

from daicho.web.openapi.swagger import SwaggerUi

UI = SwaggerUi("Tom & <Jerry>", "https://api.example.com/v1")


def test_the_page_is_small_and_has_its_title() -> None:
    assert len(UI.page.text) < 1_500
    assert "<title>Tom &amp; &lt;Jerry&gt;</title>" in UI.page.text


def test_everything_that_it_loads_is_relative_and_exists() -> None:
    loaded = re.findall(r'(?:src|href)="([^"]*)"', UI.page.text)
    assert sorted(set(loaded) - {"data:,", "openapi.json"}) == sorted(
        f"docs/{name}" for name in UI.assets
    )
    assert not re.search(r"https?:|//", "".join(loaded))


def test_the_policy_admits_neither_other_origins_nor_scripts_in_the_page() -> None:
    policy = UI.page.headers["Content-Security-Policy"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules["default-src"] == ["'none'"]
    assert rules["script-src"] == rules["style-src"] == ["'self'"]
    assert rules["connect-src"] == ["'self'", "https://api.example.com"]
    assert "unsafe" not in policy
    assert not re.search(r"<script>|<style|\son\w+=|style=", UI.page.text)
    own = SwaggerUi("Own", "").page.headers["Content-Security-Policy"]
    assert "connect-src 'self';" in own


def test_the_addresses_of_assets_change_with_their_content() -> None:
    for name, page in UI.assets.items():
        assert name.startswith(page.digest)
        assert "immutable" in page.cache_control


def test_the_start_script_sends_nothing_to_a_validator() -> None:
    (start,) = (page.text for name, page in UI.assets.items() if name.endswith("start.js"))
    assert "validatorUrl: null" in start
    assert "persistAuthorization: true" in start
    assert 'url: "openapi.json"' in start
    assert "http" not in start
