"""A few requests that are drawn from the description of the project's own routes: see `fuzz`."""

import pytest

from tests.integration.api.fuzz import fuzz
from tests.support.project_routes import PROJECT_ROUTES


@pytest.mark.skipif(not PROJECT_ROUTES.all, reason="the project has no domains")
def test_no_answer_is_a_5xx_or_contradicts_the_document() -> None:
    """Every eighth operation; what was written can be derived, too."""
    run = fuzz(200, 1, every=8)
    assert not run.failures
    assert sum(count for status, count in run.statuses.items() if status < 300) > 30
    assert all(run.statuses[status] for status in (200, 201, 204, 400, 404, 422))
