"""The versions that an If-Match names."""

from __future__ import annotations

import pytest

from daicho.web.http.preconditions import parse_tags

DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("header", "versions"),
    [
        ('"2"', [2]),
        ('"0"', [0]),
        ('"02"', []),
        ('"+2"', []),
        ('"2.0"', []),
        ('"2_0"', []),
        ('W/"2"', []),
        ('"1", "02", "3"', [1, 3]),
        ('"9999999999999999999"', []),
        (f'"{DIGEST}", "{DIGEST.upper()}", W/"{DIGEST}", "{DIGEST}0"', [DIGEST]),
        ("*", None),
    ],
)
def test_only_the_tag_as_it_is_written_names_a_version_or_a_digest(
    header: str, versions: list[int | str] | None
) -> None:
    assert parse_tags(header) == versions
