"""Requests as the gateway delivers them."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest, check_path

EVENT: dict[str, Any] = {"rawPath": "/a", "requestContext": {"http": {"method": "HEAD"}}}


@pytest.mark.parametrize(
    "path",
    [
        "/artists/\ufffd",  # as an HTTP API decodes %FF
        "/artists/%FF",  # not decoded, should a gateway leave it
        "/artists/%C3",
        "/artists/%ED%A0%80",
        "/artists/%EF%BF%BD",
        "/artists/\ud800",
    ],
)
def test_a_path_that_is_not_utf_8_is_refused(path: str) -> None:
    with pytest.raises(HttpError) as caught:
        check_path(path)
    assert caught.value.status == 400
    assert "UTF-8" in caught.value.detail


@pytest.mark.parametrize("path", ["/", "/a%25FF", "/é", "/😀", "/a%zz", "/%C3%A9", "/100%"])
def test_any_other_path_is_accepted(path: str) -> None:
    check_path(path)


def test_a_head_request_is_the_get_request_of_its_address() -> None:
    head = HttpRequest(EVENT)
    assert (head.method, head.to_get().method) == ("HEAD", "GET")
    assert head.to_get().event["rawPath"] == "/a"
    assert EVENT["requestContext"]["http"]["method"] == "HEAD"
