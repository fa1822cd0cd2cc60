"""Text that would change between a client and the function has no address."""

import pytest

from daicho.web.schema.addresses import describe_unaddressable, is_dot_segment


@pytest.mark.parametrize("text", [".", "..", "%2e", "%2E%2e", ".%2e", "%2E."])
def test_dots_are_no_segment_of_a_path_however_they_are_written(text: str) -> None:
    assert is_dot_segment(text)
    assert describe_unaddressable(text) is not None


@pytest.mark.parametrize("text", ["", "...", ".a", "a.", "%2ea", "%2f", "%252e", "1.2", "%", "é"])
def test_other_text_has_an_address(text: str) -> None:
    assert not is_dot_segment(text)
    assert describe_unaddressable(text) is None


@pytest.mark.parametrize(("text", "named"), [("a/b", "slash"), ("a\ufffd", "U+FFFD"), ("..", "..")])
def test_the_problem_names_what_is_wrong(text: str, named: str) -> None:
    assert named in (describe_unaddressable(text) or "")
