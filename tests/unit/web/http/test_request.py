"""Requests as the gateway delivers them."""

from __future__ import annotations

import pytest

from daicho.web.http.problems import HttpError
from daicho.web.http.request import check_path


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
