"""Names of operations: made of paths, unique, and the same when declarations are added."""

from __future__ import annotations

import pytest

from daicho import Entity, Key, field, uid
from daicho.web.http.operation import Operation, QueryVariant, Reply
from daicho.web.routes.operation_names import name_operations


class Movie(Entity):
    """A film."""

    id: str = uid()
    title: str = field()

    key = Key(id)


def name(*routes: str, taken: tuple[str, ...] = (), verb: str = "") -> list[str]:
    """The names of operations that answer nothing, each given as ``GET /movies``."""
    variant = QueryVariant("", "", lambda _: Reply(204))
    operations = [
        Operation(method, path, "", [variant], verb=verb)
        for method, path in (route.split() for route in routes)
    ]
    name_operations(operations, ["Movie", "CartItem"], taken)
    return [operation.id for operation in operations]


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        ("GET /movies/{id}", "get_movie"),  # the entity's name, not "movy"
        ("GET /cart_items/{id}", "get_cart_item"),
        ("GET /cookies/{cookie}", "get_cookie"),
        ("GET /addresses/{id}", "get_address"),
        ("GET /boxes/{id}", "get_box"),
        ("GET /status/{id}", "get_status"),
        ("GET /a.b/{id}", "get_a_b"),
        ("GET /{id}", "get_by_id"),
        ("GET /", "get_"),
    ],
)
def test_the_singular_is_that_of_an_entity_or_of_english(route: str, expected: str) -> None:
    assert name(route) == [expected]


def test_no_two_operations_have_one_name() -> None:
    assert name(
        "PUT /places/{country}/{city}",
        "PUT /places",
        "PUT /places/{country}/{region}/{city}",
        "PUT /place/{name}",
        "PUT /place/{name}/{part}",
        "PUT /place",
    ) == [
        "put_place",
        "put_places",
        "put_place_by_country_and_region_and_city",
        "put_place_by_name",
        "put_place_part",
        "put_place_2",
    ]
    assert name("GET /jobs/{id}", taken=("get_job",)) == ["get_job_by_id"]
