"""The page of the demonstration's domains describes all of them."""

from __future__ import annotations

import pytest

from demonstration import SYSTEMS
from tests.support.repository import ROOT

PAGE = (ROOT / "docs/reference/demonstration-domains.md").read_text("utf-8")


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_of_the_demonstration_is_described(name: str) -> None:
    assert f"](../../functions/domains/{name}.py)" in PAGE
