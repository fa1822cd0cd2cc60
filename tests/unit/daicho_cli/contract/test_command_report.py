"""What `daicho contract` prints."""

from __future__ import annotations

import json

from daicho_cli.contract.changes import ContractChange, Severity
from daicho_cli.contract.command import ContractCheck, format_changes, format_check, render_check

RENAMED = ContractChange(
    Severity.BREAKING,
    "renamed-parameter",
    "query parameter name",
    "query parameter name is renamed to q",
    'Search(..., param="name")',
    operations=("GET /users",),
)
ADDED = ContractChange(
    Severity.COMPATIBLE, "added-operation", "GET /a", "GET /a is added", operations=("GET /a",)
)
LINES = """\
breaking    query parameter name is renamed to q (GET /users)
            to keep it: Search(..., param="name")
compatible  GET /a is added"""


def test_a_line_for_each_change_and_the_way_to_keep_it() -> None:
    assert format_changes([RENAMED, ADDED]) == LINES
    assert format_changes([ADDED], indent="    ! ") == "    ! compatible  GET /a is added"
    assert format_changes([]) == ""


def test_the_last_line_is_the_verdict() -> None:
    def format_all(*changes: ContractChange) -> str:
        return format_check(ContractCheck("v1.json", changes))

    assert format_all() == "The API is that of v1.json."
    assert format_all(ADDED) == "compatible  GET /a is added\nNo client breaks."
    assert format_all(RENAMED, ADDED) == f"{LINES}\n1 change breaks clients of v1.json."
    assert format_all(RENAMED, RENAMED).endswith("\n2 changes break clients of v1.json.")


def test_json_has_every_change() -> None:
    rendered = json.loads(json.dumps(render_check(ContractCheck("v1.json", (RENAMED, ADDED)))))
    assert rendered == {
        "against": "v1.json",
        "breaking": True,
        "changes": [RENAMED.to_json(), ADDED.to_json()],
    }
    assert render_check(ContractCheck("v1.json", (ADDED,)))["breaking"] is False
