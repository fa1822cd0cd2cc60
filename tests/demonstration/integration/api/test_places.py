"""Places: what a hierarchy in one sort key refuses, over the real handlers."""

from __future__ import annotations

import pytest

from tests.support.api_client import Client


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("/", "empty"),
        ("japan/", "empty"),
        ("japan//tokyo", "empty"),
        ("/japan", "empty"),
        ("japan/a/b/c/d", "at most"),
        ("100%25", "percent"),
        ("japan/%25zz", "percent"),
        ("japan/%25ff", "UTF-8"),
        (f"japan/{'x' * 201}", "200"),
    ],
)
def test_what_no_hierarchy_begins_with(acme: Client, text: str, said: str) -> None:
    answer = acme("GET", f"/places?under={text}")
    assert answer.status == 422, answer.text
    assert said in answer.text
    assert answer.fields <= {"under", "region"}
