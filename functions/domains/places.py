"""Places (seed 002): a hierarchy as one sort key, read from any level down."""

from __future__ import annotations

from daicho import Domain, Entity, Key, field


class Place(Entity):
    """A city in its country, region and state."""

    country: str = field(max_length=200)
    region: str = field(max_length=200)
    state: str = field(max_length=200)
    city: str = field(max_length=200)
    population: int | None = field(default=None, ge=0)
    note: str = field(default="", max_length=2_000)

    key = Key(country, region, state, city, partition=0)


domain = Domain("places", Place, examples={
    "city": "yokohama", "country": "japan", "note": "A port", "population": 3770000,
    "region": "kanto", "state": "kanagawa", "under": "japan/kanto",
})  # fmt: skip
domain.resource("/places/{country}/{region}/{state}/{city}", Place, "PUT GET PATCH DELETE")
domain.resource("/places", Place, "PUT GET PATCH DELETE")  # a slash in a name is no path
domain.mount("/places", Place.key.all)
domain.mount("/places?under=", Place.key.under)
