"""Every rule that can break a client has a way to keep the contract."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from daicho_cli import contract
from daicho_cli.contract.changes import (
    Direction,
    find_null_way,
    find_operation_way,
    find_way,
)

SCHEMAS = (Path(contract.__file__).parent / "schemas.py").read_text("utf-8")
RULES = set(re.findall(r'"((?:removed|added|newly|narrowed|changed|refused)-[a-z-]+)"', SCHEMAS))
COMPATIBLE = {
    Direction.REQUEST: {"newly-optional-field", "added-field", "added-value"},
    Direction.ANSWER: {
        "added-field",
        "added-required-field",
        "newly-required-field",
        "narrowed-type",
        "narrowed-bound",
        "removed-value",
        "refused-fields",
    },
}
OTHERS = {"changed-bound", "changed-default"}
"""They never break a client."""

MEDIA_TYPES = {"added-media-type", "removed-media-type"}
"""Their way is that of an operation."""


@pytest.mark.parametrize("direction", Direction)
def test_a_rule_that_breaks_has_a_way(direction: Direction) -> None:
    assert len(RULES) > 10
    checked = RULES - OTHERS - MEDIA_TYPES
    without = {rule for rule in checked if not find_way(direction, rule, "x")}
    assert without == COMPATIBLE[direction]


def test_null_has_its_own_way() -> None:
    assert "with None" in find_null_way(Direction.REQUEST, "narrowed-type")
    assert "a migration" in find_null_way(Direction.ANSWER, "widened-type")
    assert find_null_way(Direction.ANSWER, "narrowed-type") == ""


def test_a_way_names_what_to_keep() -> None:
    assert find_operation_way("renamed-search", kept="name") == 'Search(..., param="name")'
    assert find_way(Direction.REQUEST, "narrowed-bound", "maxLength 80") == "declare maxLength 80"
