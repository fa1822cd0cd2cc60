"""The README lists the demonstration."""

from __future__ import annotations

import pytest

from demonstration import SYSTEMS
from tests.support.repository import ROOT

README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_of_the_demonstration_is_in_the_readme(name: str) -> None:
    assert f"(functions/domains/{name}.py)" in README
