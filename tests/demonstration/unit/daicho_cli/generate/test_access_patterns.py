"""The page of access patterns has every route of the demonstration."""

from __future__ import annotations

import json
import re

from tests.support.repository import ROOT

REFERENCE = ROOT / "docs/reference"


def test_every_route_of_the_api_is_among_the_access_patterns() -> None:
    described = json.loads((REFERENCE / "openapi.json").read_text("utf-8"))
    page = (REFERENCE / "access-patterns.md").read_text("utf-8")
    shown = {each.partition("?")[0] for each in re.findall(r"^\| `([A-Z]+ [^`]+)` \|", page, re.M)}
    served = {
        f"{method.upper()} {path}"
        for path, methods in described["paths"].items()
        for method in methods
        if method in {"get", "post", "put", "patch", "delete"}
    }
    assert len(served) > 50
    assert served == shown
