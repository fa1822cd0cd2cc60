"""The how-to pages of single changes: their edits apply to the example, and the lock file follows.

`tests/e2e/test_six_changes.py` also deploys the changes. The page about keys has its own example,
which `tests/integration/commands/test_key_change.py` follows.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.changing_project import ChangingProject
from tests.support.how_to_page import PAGES, HowToPage
from tests.support.repository import ROOT

EXAMPLE = (ROOT / "examples/invoices.py").read_text("utf-8")
DAICHO = ".venv/bin/daicho"
IN_ORDER = (
    "add-a-search-field",
    "add-an-aggregate",
    "change-a-group",
    "roll-code-back",
    "remove-a-listing",
    "undo-a-change",
)


def test_each_page_changes_the_example_as_it_shows(tmp_path: Path) -> None:
    changing = ChangingProject.create(tmp_path / "invoices", {"invoices.py": EXAMPLE})
    texts = [EXAMPLE]

    for name in IN_ORDER:
        page = HowToPage.read(name)
        text = texts[-1]
        if name == "roll-code-back":
            text = texts[-2]
        elif name == "undo-a-change":
            for edit in HowToPage.read("change-a-group").edits[1]:
                text = edit.apply(text)
            changing.write_domains({"invoices.py": text})
            changing.run("generation", "--accept")
        for edit in page.edits[0] if page.edits else ():
            text = edit.apply(text)
        changing.write_domains({"invoices.py": text})
        for command in page.commands:
            program, _, arguments = command.line.partition(" ")
            if program == DAICHO and arguments.startswith("generation"):
                command.check(changing.run(*arguments.split()))
        if name != "roll-code-back":
            texts.append(text)


def test_every_page_with_steps_is_followed() -> None:
    with_steps = {page.stem for page in PAGES.glob("*.md") if "```diff" in page.read_text("utf-8")}
    assert with_steps <= {*IN_ORDER, "change-the-key-of-an-entity"}
