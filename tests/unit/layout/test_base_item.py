"""Base items: their keys, and what the library keeps beside the fields."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.errors import Invalid
from daicho.layout.base_item import is_expired
from tests.support.item_images import NOON, Owner, Short, Thing, image_of


def test_what_the_library_keeps_beside_the_fields() -> None:
    image = image_of(Short(a="a#1", b="b"))
    assert image["PK"] == {"S": "acme#Short#a$231"}
    assert (image["GSI1PK"], image["GSI1SK"]) == ({"S": "acme#Short#b"}, {"S": "a$231"})
    assert image["type"] == {"S": "Short"}
    assert image["created_at"] == {"S": "2026-11-21T12:00:00.123456Z"}
    assert image["ttl"] == {"N": str(int(NOON.timestamp()) + 90)}
    assert not is_expired(image, int(NOON.timestamp()) + 89)
    assert is_expired(image, int(NOON.timestamp()) + 90)
    assert not is_expired(image_of(Owner()), 10**12)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"owner": "o" * 2040}, "owner"),
        ({"id": "o" * 1025}, "id"),
        ({"owner": "\u3042" * 700}, "owner"),
    ],
)
def test_a_key_that_does_not_fit_names_its_longest_field(values: dict[str, Any], name: str) -> None:
    with pytest.raises(Invalid) as error:
        image_of(Thing(**({"id": "i", "owner": "o"} | values)))
    assert error.value.field == name
