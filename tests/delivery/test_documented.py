"""The mapping does what AWS documents: a simulator is worth what its model is worth."""

from __future__ import annotations

import pytest

from tests.delivery.documented import Behaviour, Story, behaviours

SOURCES = ("https://docs.aws.amazon.com/", "https://aws.amazon.com/blogs/", "https://docs.rs/")


@pytest.mark.parametrize("behaviour", behaviours(), ids=lambda each: each.name)
def test_a_documented_behaviour(behaviour: Behaviour) -> None:
    Story(behaviour).play()


def test_there_are_enough_of_them_and_each_has_its_source() -> None:
    found = behaviours()
    assert len(found) >= 25
    assert len({each.name for each in found}) == len(found)
    assert all(each.source.startswith(SOURCES) for each in found)


def test_a_story_can_fail() -> None:
    behaviour = Behaviour("a batch", "", "", "write a 1 2\ninvoke a 1 -> ok")
    with pytest.raises(AssertionError, match=r"sent \['1', '2'\]"):
        Story(behaviour).play()
