"""Key strings under text full of delimiters and escapes."""

from hypothesis import example, given
from hypothesis import strategies as st

from daicho.storage import keys

HOSTILE = st.text(
    st.sampled_from('#$ab\x00 "!%台\U0001f600') | st.characters(exclude_categories=["Cs"])
)
PARTS = st.lists(HOSTILE, min_size=1, max_size=4)


@given(PARTS)
@example(["a#b", "$23", "#"])
def test_a_key_is_read_back_as_it_was_written(parts: list[str]) -> None:
    assert keys.parse(keys.render(*parts)) == tuple(parts)


@given(PARTS)
def test_a_component_never_holds_the_delimiter(parts: list[str]) -> None:
    assert keys.render(*parts).count(keys.DELIMITER) == len(parts) - 1


@given(PARTS, PARTS)
@example(["a", "b"], ["a!", "b"])
@example(["a"], ["a", ""])
def test_keys_sort_as_their_parts(left: list[str], right: list[str]) -> None:
    # UTF-8 bytes, as DynamoDB compares them; code points sort alike.
    rendered = [keys.render(*parts).encode() for parts in (left, right)]
    assert (rendered[0] < rendered[1]) == (left < right)


@given(PARTS, PARTS)
@example(["a"], ["a#"])
def test_a_prefix_holds_whole_components_only(head: list[str], other: list[str]) -> None:
    inside = keys.render(*other).startswith(keys.render_prefix(*head))
    assert inside == (len(other) > len(head) and other[: len(head)] == head)


@given(st.integers(-(10**19) + 1, 10**19 - 1), st.integers(-(10**19) + 1, 10**19 - 1))
def test_integers_sort_as_numbers(left: int, right: int) -> None:
    assert (keys.render_scalar(left) < keys.render_scalar(right)) == (left < right)


@given(
    st.decimals(-(10**9), 10**9, places=9),
    st.decimals(-(10**9), 10**9, places=9),
)
def test_scores_sort_highest_first(left: object, right: object) -> None:
    assert (keys.render_inverted_score(left) < keys.render_inverted_score(right)) == (left > right)  # type: ignore[arg-type,operator]
