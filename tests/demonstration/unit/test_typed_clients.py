"""Programs with clients of the demonstration, generated as the page shows, pass type checkers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from supply_chain.locks import read_pins
from tests.support.repository import ROOT
from tests.support.trials import IS_TRIAL
from tests.support.typed_clients import (
    NODE_FILES,
    REQUIREMENTS,
    check_python,
    check_typescript,
    copy_examples,
    generate_python,
    generate_typescript,
    read_commands,
    run_node,
)

EXAMPLES = ROOT / "examples/clients"
NUMBERS = ROOT / "tests/demonstration/unit/exact_numbers.mts"
DOCUMENT = json.loads((ROOT / "docs/reference/openapi.json").read_text("utf-8"))


def test_the_page_names_the_versions_that_are_tested() -> None:
    locks = [str(path.relative_to(ROOT)) for path in (REQUIREMENTS, NODE_FILES[1])]
    pinned = {pin.name: pin.version for lock in locks for pin in read_pins(lock)}
    named = {name: version for name, (version, _) in read_commands().items()}
    assert named == {name: pinned[name] for name in ("openapi-python-client", "openapi-typescript")}


@pytest.mark.skipif(not IS_TRIAL, reason="type checkers of two languages: make trials")
def test_a_program_with_the_python_client_passes_mypy(tmp_path: Path) -> None:
    generate_python(tmp_path, DOCUMENT)
    copy_examples(tmp_path, EXAMPLES / "contacts.py")
    program = tmp_path / "examples/clients/contacts.py"
    wrong = program.with_name("wrong.py")
    wrong.write_text(program.read_text("utf-8").replace("seconds=seconds", "secs=1"), "utf-8")
    with pytest.raises(AssertionError, match='Unexpected keyword argument "secs"') as failure:
        check_python(tmp_path, program, wrong)
    assert str(failure.value).count(": error:") == 1


@pytest.mark.skipif(not IS_TRIAL, reason="type checkers of two languages: make trials")
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
