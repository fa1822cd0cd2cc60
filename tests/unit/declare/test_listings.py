"""Listings as they are declared: what their rows copy."""

from __future__ import annotations

import pytest

from daicho import Entity, Key, Listing, ref, uid
from daicho.declare.compiler import compile_entity
from daicho.errors import DeclarationError
from tests.support.sample_declarations import Task, Team


def copies() -> dict[str, tuple[str, ...]]:
    return {each.name: each.copies for each in compile_entity(Task).listings}


def test_what_is_copied_tells_the_item_too() -> None:
    assert copies() == {
        "none": (),
        "some": ("id", "title", "created_at"),
        "one": ("id", "helpers"),
        "every": ("id", "team", "title", "helpers", "note", "created_at", "version"),
    }


def test_another_entitys_field_is_not_copied() -> None:
    class Other(Entity):
        id: str = uid()
        team: str = ref(Team)

        key = Key(id)
        of_team = Listing(team, copies=Task.title)

    with pytest.raises(DeclarationError, match=r"Other\.of_team copies Task\.title"):
        compile_entity(Other)
    with pytest.raises(DeclarationError, match="takes fields"):
        Listing(copies="title")
