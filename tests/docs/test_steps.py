"""Pages with steps are followed: in a new project each, whose tests then pass.

`tests/e2e/test_six_changes.py` also deploys the changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.commands import CommandFailed
from tests.support.followed_project import FollowedProject
from tests.support.how_to_page import DOCS, PAGES, HowToPage
from tests.support.repository import ROOT

SCHEDULES = 5
"""How many schedules of faults the tests of each project play."""
INVOICES = "examples/invoices.py"
WITH_STEPS = [ROOT / "README.md", *sorted((DOCS / "tutorial").glob("*.md")), *PAGES.glob("*.md")]
FOLLOWED_ELSEWHERE = {"change-the-key-of-an-entity"}
"""On a table in memory, by `tests/integration/commands/test_key_change.py`."""


@dataclass(frozen=True)
class Start:
    """What a project has at the beginning of a page: its domain file, and a change deployed since.

    ``is_changed``: the file has the edits of the page already. ``changed``: another page, and which
    of its sections with edits.
    """

    domain: str = ""
    is_changed: bool = False
    changed: tuple[str, int] | None = None


STARTS = {
    "README": Start(),
    "first-entity": Start(),
    "invoice-service": Start(),
    "billing-service": Start(),
    "add-a-search-field": Start(INVOICES),
    "add-a-unique-value": Start("examples/invoicing.py", is_changed=True),
    "add-an-aggregate": Start(INVOICES),
    "add-an-entity": Start(),
    "change-a-group": Start(INVOICES),
    "change-declarations-on-live-data": Start(INVOICES, changed=("add-a-search-field", 0)),
    "estimate-costs": Start("functions/domains/contacts.py"),
    "generate-clients": Start(),
    "migrate-a-field": Start("functions/domains/users.py"),
    "remove-a-listing": Start(INVOICES),
    "roll-code-back": Start(INVOICES, changed=("change-a-group", 0)),
    "start-a-project": Start(),
    "test-your-entities": Start("examples/tickets.py"),
    "undo-a-change": Start(INVOICES, changed=("change-a-group", 1)),
    "upgrade": Start(),
}


@pytest.fixture(scope="module")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> FollowedProject:
    """A project that nobody has changed."""
    return FollowedProject.create(tmp_path_factory.mktemp("new") / "shop")


@pytest.mark.parametrize("name", STARTS)
def test_a_new_project_is_exact_after_the_steps_of_a_page(
    name: str, new_project: FollowedProject, tmp_path: Path
) -> None:
    page = HowToPage.read(next(path for path in WITH_STEPS if path.stem == name))
    start = STARTS[name]
    quoted = [*filter(None, (start.domain, *(block.title for block in page.blocks)))]
    if not all((ROOT / file).exists() for file in quoted):
        pytest.skip("the demonstration has been removed")
    undone = page.edits[0] if start.is_changed else ()
    project = new_project.copy(tmp_path / "shop", start.domain, undone)
    project.commit("v41")
    if start.changed:
        changed, section = start.changed
        for edit in HowToPage.read(changed).edits[section]:
            project.edit(edit)
        project.commit("v42")

    project.follow(page)
    project.commit("followed")
    project.run_tests(SCHEDULES)


def test_the_tests_of_a_followed_project_can_fail(
    new_project: FollowedProject, tmp_path: Path
) -> None:
    project = new_project.copy(tmp_path / "shop")
    (project.folder / "generations.json").write_text("{}", "utf-8")
    with pytest.raises(CommandFailed, match="generation"):
        project.run_tests(SCHEDULES)


def test_another_output_is_found(new_project: FollowedProject) -> None:
    block = "```sh\n.venv/bin/daicho generation\n```\n\n```text\n{}\n```\n"
    new_project.follow(HowToPage.parse(block.format("no declaration changed")))
    with pytest.raises(AssertionError, match="no declaration has changed"):
        new_project.follow(HowToPage.parse(block.format("no declaration has changed")))


def test_every_page_with_steps_is_followed() -> None:
    with_steps = {
        path.stem
        for path in WITH_STEPS
        if any(block.needs_project for block in HowToPage.read(path).blocks)
    }
    assert with_steps == {*STARTS, *FOLLOWED_ELSEWHERE}


@pytest.mark.parametrize("path", WITH_STEPS, ids=lambda path: str(path.stem))
def test_every_block_says_what_is_done_with_it(path: Path) -> None:
    assert HowToPage.read(path).find_faults() == []


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("```\nmake up\n```", "1: has no language"),
        ("```sh\nfrobnicate\n```", "1: needs a mark: frobnicate"),
        ("```python\nx = 1\n```", "1: needs a mark"),
        ("```text\nprinted\n```", "1: needs a mark"),
        ("<!-- run: no -->\n\n```sh\nls\n```", "3: needs one of"),
        ("<!-- run: project -->\n```sh\nls\n```\n```text\na\n```\n```json\n{}\n```", "8: needs"),
        ("<!-- ran: project -->\n```sh\nls\n```", "2: has an unknown mark: ran"),
    ],
)
def test_an_unmarked_block_is_found(block: str, fault: str) -> None:
    (found,) = HowToPage.parse(block).find_faults()
    assert found.startswith(fault)
