"""The page of Swagger UI is small, loads only its own assets, and runs no script in the page."""

from __future__ import annotations

import re

from daicho.web.openapi.swagger import SwaggerUi

UI = SwaggerUi("Tom & <Jerry>", "https://api.example.com/v1")


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
