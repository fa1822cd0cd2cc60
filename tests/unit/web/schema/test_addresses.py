"""Text that would change between a client and the function has no address."""

import pytest

from daicho.web.schema.addresses import describe_unaddressable


@pytest.mark.parametrize(
    "text",
    [".", "..", "%2e", "%2E%2e", ".%2e", "%2E.", "%", "50%", "a%41", "%252e", "who?", "?", "a/b"],
)
def test_text_that_changes_on_its_way_has_no_address(text: str) -> None:
    assert describe_unaddressable(text) is not None


@pytest.mark.parametrize("text", ["", "...", ".a", "a.", "2e", "1.2", "é", "#", "a b", "+", "&="])
def test_other_text_has_an_address(text: str) -> None:
    assert describe_unaddressable(text) is None


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
