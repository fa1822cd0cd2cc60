"""Plans of one entity by hand: as it is declared at first, and with a listing more."""

from __future__ import annotations

from dataclasses import replace

from daicho.plan import EntityPlan, FieldPlan, KeyPlan, ListingPlan, Part, SearchPlan

SONG = EntityPlan(
    "Song",
    {"id": "str", "title": "str"},
    KeyPlan(("id",), ()),
    searches=(SearchPlan("search", 0, ("title",), (1, 2)),),
)
WITH_LISTING = replace(
    SONG, listings=(ListingPlan("of_title", 0, (Part("title"),), ("created_at",)),)
)


def describe_song_fields(**fields: str) -> dict[str, dict[str, FieldPlan]]:
    """All fields of the entity, with these besides its own, as in the lock file."""
    described = {"id": "str required", "title": "str required", **fields}
    return {"Song": {name: FieldPlan.parse(text) for name, text in described.items()}}
