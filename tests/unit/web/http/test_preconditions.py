"""The versions that an If-Match names."""

from __future__ import annotations

import pytest

from daicho.web.http.preconditions import parse_versions


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
        ("*", None),
    ],
)
def test_only_the_tag_as_it_is_written_names_a_version(
    header: str, versions: list[int] | None
) -> None:
    assert parse_versions(header) == versions
