"""Names that are made on their first access, and once."""

from __future__ import annotations

import pytest

from daicho.runtime.lazy_names import lazy_attributes, lazy_imports


def test_an_attribute_is_made_once_and_only_when_it_is_needed() -> None:
    made: list[str] = []

    def make() -> list[str]:
        made.append("handler")
        return made

    get_attribute = lazy_attributes("module", {"handler": make})
    assert made == []
    assert get_attribute("handler") is get_attribute("handler") is made
    assert made == ["handler"]
    with pytest.raises(AttributeError, match="module 'module' has no attribute 'nothing'"):
        get_attribute("nothing")


def test_what_failed_is_tried_again() -> None:
    outcomes = [ValueError("not yet"), None]

    def make() -> str:
        if (error := outcomes.pop(0)) is not None:
            raise error
        return "made"

    get_attribute = lazy_attributes("module", {"handler": make})
    with pytest.raises(ValueError, match="not yet"):
        get_attribute("handler")
    assert get_attribute("handler") == "made"


def test_a_name_is_imported_from_its_module() -> None:
    assert lazy_imports("json", {"decoder": ("JSONDecoder",)})("JSONDecoder").__name__
