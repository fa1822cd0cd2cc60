"""Pages are compressed if the client takes it, and are not sent again unchanged."""

from __future__ import annotations

import base64
import gzip

import pytest

from daicho.web.openapi.static_page import FOREVER, StaticPage

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


def test_a_short_page_is_not_compressed() -> None:
    assert (
        "Content-Encoding"
        not in StaticPage("x", "text/css").answer({"accept-encoding": "gzip"}).headers
    )


def test_an_unchanged_page_is_a_304_with_the_headers_that_a_cache_needs() -> None:
    tag = str(PAGE.answer({}).headers["ETag"])
    for tags in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        response = PAGE.answer({"if-none-match": tags})
        assert (response.status, response.body) == (304, None)
        assert (response.headers["ETag"], response.headers["Cache-Control"]) == (tag, "no-cache")
    assert PAGE.answer({"if-none-match": '"x"'}).status == 200


def test_the_tag_changes_with_the_content() -> None:
    other = StaticPage("another page", "text/html", FOREVER)
    assert other.digest != PAGE.digest
    assert other.answer({}).headers["Cache-Control"] == FOREVER
    assert PAGE.answer({}).headers["X-Frame"] == "none"
