"""Text that would change between a client and the function has no address."""

import pytest

from daicho.web.schema.addresses import describe_unaddressable


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a/b", "slash"),
        ("a\ufffd", "U+FFFD"),
        ("..", ".."),
        ("50%", "percent sign"),
        ("who?", "question mark"),
    ],
)
def test_the_problem_names_what_is_wrong(text: str, named: str) -> None:
    assert named in (describe_unaddressable(text) or "")
