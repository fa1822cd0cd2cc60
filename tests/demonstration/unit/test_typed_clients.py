"""Programs with clients of the demonstration, generated as the page shows, pass type checkers."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.repository import ROOT
from tests.support.typed_clients import (
    check_typescript,
    copy_examples,
    generate_typescript,
    run_node,
)

EXAMPLES = ROOT / "examples/clients"
NUMBERS = ROOT / "tests/demonstration/unit/exact_numbers.mts"
DOCUMENT = json.loads((ROOT / "docs/reference/openapi.json").read_text("utf-8"))


def test_typescript_changes_the_numbers_that_the_page_names(tmp_path: Path) -> None:
    generate_typescript(tmp_path, DOCUMENT)
    copy_examples(tmp_path, EXAMPLES / "contacts.mts", EXAMPLES / "places.mts", NUMBERS)
    program = tmp_path / NUMBERS.relative_to(ROOT)
    check_typescript(tmp_path, program)
    assert json.loads(run_node(tmp_path, program)) == {
        "population": "9007199254740992",  # of 9007199254740993
        "price": "1234567890123456789.50",
        "sent": ['{"genre":"Rock","price":0.3}', '{"population":9007199254740995}'],
        "grown": "9007199254740995",
        "isKept": True,
    }
