"""Articles (by copy) and manuals (by pointer) over the real handlers: preconditions."""

from __future__ import annotations

import itertools

import pytest

from tests.support.api_client import Client

NUMBERS = itertools.count()
BODY = {"title": "Title", "text": "Text"}


@pytest.fixture(params=["articles", "manuals"])
def path(request: pytest.FixtureRequest) -> str:
    return f"/{request.param}"


@pytest.fixture
def url(acme: Client, path: str) -> str:
    """An item of three versions."""
    made = f"{path}/{next(NUMBERS)}"
    for number in range(1, 4):
        acme.good("PUT", made, {"title": "Title", "text": f"text {number}"})
    return made


def test_editors_who_are_late(acme: Client, url: str) -> None:
    for method, at, body in (
        ("PUT", url, BODY),
        ("PATCH", url, {"text": "x"}),
        ("POST", f"{url}/versions/1/restore", None),
        ("DELETE", url, None),
    ):
        for stale in ('"2"', '"4"', 'W/"3"', '"1", "2"'):
            assert acme(method, at, body, if_match=stale).status == 412, (method, stale)
        assert acme(method, at, body, if_match="3").status == 400
    assert acme.good("GET", url)["version"] == 3
    assert acme("PUT", url, BODY, if_none_match="*").status == 412
    assert acme("PUT", url, BODY, if_match='"1", "3"').status == 200
