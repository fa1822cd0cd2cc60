"""The pytest plugin: fixtures that test a project's own declarations in memory.

pytest loads it at every start, so it imports the rest of the library only when a fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from daicho.book.book import Book
    from daicho.plan import Ledger
    from daicho.testing.check import FaultChecker
    from daicho.testing.memory_deployment import MemoryDeployment


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture ``daicho_faults``."""
    group = parser.getgroup("daicho", "Daicho: random schedules of faults")
    group.addoption(
        "--daicho-schedules",
        type=int,
        metavar="N",
        help="the number of schedules of each daicho_faults.check(), instead of its argument",
    )
    group.addoption(
        "--daicho-first-seed",
        type=int,
        metavar="N",
        help="the seed of the first schedule of each daicho_faults.check()",
    )


@pytest.fixture(scope="module")
def daicho_ledger(request: pytest.FixtureRequest) -> Ledger:
    """The checked ledger of the project that the test module belongs to.

    Define a fixture of this name to test other declarations.
    """
    from daicho.project import Project  # noqa: PLC0415  # see above

    return Project.find(request.path.parent).check()


@pytest.fixture
def daicho_faults(request: pytest.FixtureRequest, daicho_ledger: Ledger) -> FaultChecker:
    """Check that everything derived stays exact: ``daicho_faults.check(schedules=200)``."""
    from daicho.testing.check import FaultChecker  # noqa: PLC0415  # see above

    return FaultChecker(
        daicho_ledger,
        request.node.nodeid,
        chosen_schedules=request.config.getoption("--daicho-schedules"),
        chosen_first_seed=request.config.getoption("--daicho-first-seed"),
    )


@pytest.fixture
def daicho_deployment(request: pytest.FixtureRequest, daicho_ledger: Ledger) -> MemoryDeployment:
    """An empty deployment in memory of the project's own entities and subscribers."""
    from daicho.plan.events import list_receivers  # noqa: PLC0415  # see above
    from daicho.project import Project  # noqa: PLC0415  # see above
    from daicho.testing.memory_deployment import MemoryDeployment  # noqa: PLC0415  # see above

    if not any(list_receivers(daicho_ledger.events)):
        return MemoryDeployment(daicho_ledger)
    subscribers = Project.find(request.path.parent).list_subscribers()
    return MemoryDeployment(daicho_ledger, subscribers=subscribers)


@pytest.fixture
def daicho_book(daicho_deployment: MemoryDeployment) -> Book:
    """A Book of the tenant ``tenant`` of `daicho_deployment`."""
    return daicho_deployment.open_book()
