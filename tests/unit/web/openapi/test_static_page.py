"""Pages are compressed if the client takes it, and are not sent again unchanged."""

from __future__ import annotations

import base64
import gzip

import pytest

from daicho.web.openapi.static_page import StaticPage

PAGE = StaticPage("a page " * 1_000, "text/html", headers={"X-Frame": "none"})


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("deflate, gzip , br", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("x-gzip2", False),
    ],
)
def test_gzip_is_used_if_it_is_accepted(accepted: str, is_compressed: bool) -> None:
    response = PAGE.answer({"accept-encoding": accepted})
    assert ("Content-Encoding" in response.headers) is is_compressed
    assert response.is_base64 is is_compressed
    assert response.headers["Vary"] == "Accept-Encoding"
    body = response.body or ""
    text = gzip.decompress(base64.b64decode(body)).decode() if is_compressed else body
    assert text == PAGE.text
