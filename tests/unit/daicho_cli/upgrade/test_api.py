"""The API in an upgrade: the changes of its contract, without the ways to keep it."""

from __future__ import annotations

from daicho_cli.severity import Severity
from daicho_cli.upgrade.api import compare_apis
from daicho_cli.upgrade.change import Area, Change
from tests.support.small_api import build_document, users


def test_a_change_of_the_contract_is_a_change_of_the_api() -> None:
    before, after = build_document(), build_document()
    del users(after)["parameters"][0]
    assert compare_apis(before, after) == [
        Change(
            Area.API,
            Severity.BREAKING,
            "removed-parameter",
            "query parameter name",
            "query parameter name is removed (GET /users)",
        )
    ]
