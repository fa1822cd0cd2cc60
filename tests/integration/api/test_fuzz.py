"""Requests drawn from the description of the project's own routes, and spoilt."""

import pytest

from tests.integration.values.test_drawn_requests import send_drawn_requests
from tests.support.deployment import serving_in_memory
from tests.support.project_routes import PROJECT_ROUTES


@pytest.mark.skipif(not PROJECT_ROUTES.all, reason="the project has no domains")
def test_no_request_breaks_the_api_and_what_was_written_can_be_derived() -> None:
    with serving_in_memory("domains", PROJECT_ROUTES.ledger) as served:
        statuses = send_drawn_requests(served, PROJECT_ROUTES.daicho, seed=1)
        served.catch_up()
    assert sum(count for status, count in statuses.items() if status < 300) > 10
