"""The names of the objects in S3."""

from __future__ import annotations

from daicho.layout.object_names import render_object_name
from daicho.storage import keys
from daicho.storage.attributes import ItemKey


def test_the_names_of_objects_begin_with_the_tenant_and_never_meet() -> None:
    parts = [("a/b",), ("a", "b"), ("a%2Fb",), ("a b",)]
    names = {
        render_object_name(
            ItemKey(keys.render("acme", "Photo"), keys.render(*each)), "Photo", "image"
        )
        for each in parts
    }
    assert all(name.startswith("acme/Photo.image/") for name in names)
    assert len(names) == len(parts)
